import type { VitessConfig } from "../log/log-config.ts";
import { Database } from "../log/vitess/database.ts";
import { formatSql } from "../log/vitess/sql-text.ts";
import { StartRefusal } from "./start-refusal.ts";

const CHECK_DEADLINE_MS = 3000;
const TABLES = ["queue_topics", "queue_groups", "queue_offsets", "queue_messages"];

/**
 * Throws a StartRefusal when the database cannot be reached within three seconds, or lacks a table: a Worker would
 * start all the same and answer 503. Reads one row at most of each table, of this tenant.
 */
export async function checkDatabase(
  log: VitessConfig,
  tenant: string,
  deadlineMs = CHECK_DEADLINE_MS,
): Promise<void> {
  const database = new Database(log.credentials);
  const endAtMs = Date.now() + deadlineMs;
  for (const table of TABLES) {
    const sql = formatSql(`SELECT 1 FROM ${table} WHERE tenant = ? LIMIT 1`, [tenant]);
    const outcome = await database.send(sql, Math.max(1, endAtMs - Date.now()));
    if ("kind" in outcome) throw new StartRefusal(refusal(outcome, table, log.hostShown));
  }
}

type DatabaseFailure = Extract<Awaited<ReturnType<Database["send"]>>, { kind: string }>;

function refusal(failure: DatabaseFailure, table: string, host: string): string {
  switch (failure.kind) {
    case "schema":
      return `the database at ${host} has no table ${table}: run npm run schema -- apply`;
    case "refused":
      return `the database at ${host} refuses the user name or the password: check DATABASE_URL, or DATABASE_USERNAME and DATABASE_PASSWORD`;
    case "unavailable":
      return `the database at ${host} cannot be reached (${failure.cause}): check DATABASE_URL or DATABASE_HOST, and that it runs`;
    default:
      return `the database at ${host} does not let itself be read (${failure.kind}): see what it logs`;
  }
}
