import { randomUUID } from "node:crypto";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll } from "vitest";
import { type Gateway, startGateway } from "../../src/gateway/gateway.ts";
import { Database, type DatabaseOptions } from "../../src/log/vitess/database.ts";
import { VitessLog } from "../../src/log/vitess/vitess-log.ts";
import { type MariaDb, startMariaDb } from "./mariadb.ts";

const SCHEMA = join(import.meta.dirname, "../../schema/vitess");
const NAME = "fairlane";
export const COMMIT_HORIZON_MS = 120_000;

export interface LogAtPlace {
  log: VitessLog;
  tenant: string;
  database: Database;
}

/** A MariaDB with the schema and a gateway before it, for the cases of a file. */
export interface VitessPlace {
  readonly mariaDb: MariaDb;
  readonly gateway: Gateway;
  /** As a fresh process has it; of a tenant of its own unless one is named. */
  log(options?: DatabaseOptions & { tenant?: string }): LogAtPlace;
  runSql(sql: string): Promise<Record<string, unknown>[]>;
  /** What the database was asked meanwhile. Nothing else may be under way. */
  cost<T>(
    run: () => Promise<T>,
  ): Promise<{ value: T; roundTrips: number; rowsRead: number; rowsWritten: number }>;
}

/** Starts and ends with the file that calls it. */
export function vitessPlace(): VitessPlace {
  let mariaDb: MariaDb;
  let gateway: Gateway;
  beforeAll(async () => {
    mariaDb = await startMariaDb();
    const dsn = await mariaDb.createDatabase(NAME);
    for (const file of readdirSync(SCHEMA).filter((name) => name.endsWith(".sql"))) {
      await mariaDb.runSql(readFileSync(join(SCHEMA, file), "utf8"), NAME);
    }
    gateway = await startGateway({ dsn, user: "log", password: "log-password" });
  });
  afterAll(async () => {
    await gateway?.close();
    await mariaDb?.stop();
  });

  /** Rows that the server's handlers read and wrote so far; asking adds some. */
  const handled = async () => {
    const counters = await mariaDb.globalStatus("Handler_%");
    const sumOf = (pattern: RegExp) =>
      Object.entries(counters).reduce((sum, [name, count]) => sum + (pattern.test(name) ? count : 0), 0);
    return { read: sumOf(/_read_/), written: sumOf(/_(?:write|update|delete)$/) };
  };
  return {
    get mariaDb() {
      return mariaDb;
    },
    get gateway() {
      return gateway;
    },
    log: ({ tenant = `t-${randomUUID()}`, ...options } = {}) => {
      const database = new Database({ url: gateway.url }, options);
      return {
        log: new VitessLog(tenant, database, { commitHorizonMs: COMMIT_HORIZON_MS }),
        tenant,
        database,
      };
    },
    runSql: (sql) => mariaDb.runSql(sql, NAME),
    cost: async (run) => {
      const [first, before] = [await handled(), await handled()];
      const roundTrips = gateway.stats.roundTrips;
      const value = await run();
      const trips = gateway.stats.roundTrips - roundTrips;
      const after = await handled();
      const ofAsking = { read: before.read - first.read, written: before.written - first.written };
      return {
        value,
        roundTrips: trips,
        rowsRead: after.read - before.read - ofAsking.read,
        rowsWritten: after.written - before.written - ofAsking.written,
      };
    },
  };
}
