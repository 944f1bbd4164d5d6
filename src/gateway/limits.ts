/** What the gateway allows. Tests make them small; everybody else takes the defaults. */
export interface GatewayLimits {
  /** Of a request's body, as it comes over the wire. */
  maxBodyBytes: number;
  /** A result with more rows is refused, not cut. */
  maxResultRows: number;
  /** Of a result's values together; more is refused. */
  maxResultBytes: number;
  /** A statement is killed after so long. */
  statementMs: number;
  /** A transaction is rolled back so long after its BEGIN, busy or idle. */
  transactionMs: number;
  /** To each database, those of open transactions included. */
  maxConnections: number;
  /** Statements that may wait for a connection, for each database. */
  maxWaiting: number;
  /** How long a statement waits for a connection. */
  waitMs: number;
  /** For a new connection to the database, and for each statement that sets it up. */
  connectMs: number;
  /** A killed statement that has not ended by then is given up with its connection. */
  killGraceMs: number;
  maxTransactions: number;
  /** Requests at the same time; each may hold a body. */
  maxRequests: number;
  /** An ending gateway gives statements under way so long. */
  closeGraceMs: number;
}

export const DEFAULT_LIMITS: Readonly<GatewayLimits> = {
  // A batch of 4 MiB is over 8 MiB of SQL in hex, and JSON escapes may double what is not hex.
  maxBodyBytes: 32 * 1024 * 1024,
  // These four as PlanetScale has them; it gives a SELECT outside a transaction 900 s, which nothing here needs.
  maxResultRows: 100_000,
  maxResultBytes: 64 * 1024 * 1024,
  statementMs: 30_000,
  transactionMs: 20_000,
  // Leaves room in the 151 connections that a MySQL server allows by default.
  maxConnections: 100,
  maxWaiting: 1000,
  waitMs: 10_000,
  connectMs: 5000,
  killGraceMs: 5000,
  maxTransactions: 1000,
  maxRequests: 2000,
  closeGraceMs: 2000,
};

/** Throws `RangeError` for a limit that is not a positive whole number. */
export function withDefaults(limits: Partial<GatewayLimits>): GatewayLimits {
  const all = { ...DEFAULT_LIMITS, ...limits };
  for (const [name, value] of Object.entries(all)) {
    if (!Number.isSafeInteger(value) || value < 1) throw new RangeError(`limit ${name} must be at least 1`);
  }
  return all;
}
