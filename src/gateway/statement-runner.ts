import type { ConnectionPool } from "./connection-pool.ts";
import type { GatewayLimits } from "./limits.ts";
import type { MysqlConnection, StatementOutcome } from "./mysql-connection.ts";

export type RunOutcome =
  | StatementOutcome
  /** Stopped by the server at our wish; it changed nothing. */
  | { kind: "killed"; elapsedMs: number; threadId: number };

const ERRNO_INTERRUPTED = 1317;
const NO_RESULT = { maxResultRows: 1, maxResultBytes: 1024 };

/**
 * Runs a statement and kills it at the limit. Settles only when the server is done with it, or has not been for the
 * grace after the kill: then the connection is given up and the outcome is not known. Never rejects.
 */
export async function runWithin(
  pool: ConnectionPool,
  connection: MysqlConnection,
  sql: string,
  limits: GatewayLimits,
): Promise<RunOutcome> {
  const startMs = performance.now();
  let killing: Promise<void> | null = null;
  let giveUp: NodeJS.Timeout | undefined;
  const timer = setTimeout(() => {
    // Whoever used the connection next could be hit instead.
    connection.spoiled = true;
    giveUp = setTimeout(() => connection.destroy(), limits.killGraceMs);
    killing = kill(pool, connection, "QUERY");
  }, limits.statementMs);
  const outcome = await connection.run(sql, limits);
  clearTimeout(timer);
  clearTimeout(giveUp);
  if (!killing) return outcome;
  await killing;
  const killed = outcome.kind === "failed" && outcome.failure.errno === ERRNO_INTERRUPTED;
  // It may have ended just before the kill arrived: then it counts.
  return killed
    ? { kind: "killed", elapsedMs: performance.now() - startMs, threadId: connection.threadId }
    : outcome;
}

/** Stops what a connection is doing, or the connection itself. Never rejects. */
export async function kill(
  pool: ConnectionPool,
  connection: MysqlConnection,
  what: "QUERY" | "CONNECTION",
): Promise<void> {
  let beside: MysqlConnection | undefined;
  try {
    beside = await pool.openBeside();
    await beside.run(`KILL ${what} ${connection.threadId}`, NO_RESULT);
  } catch {
    // The database takes no connection: all that is left is to close ours. The server sees that, at the latest, when
    // the statement ends.
    connection.destroy();
  } finally {
    beside?.destroy();
  }
}
