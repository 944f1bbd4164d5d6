import { once } from "node:events";
import { createServer, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { ConnectionPool } from "./connection-pool.ts";
import { checkCredential } from "./credentials.ts";
import { parseDsn } from "./dsn.ts";
import { Executor, type Route } from "./executor.ts";
import { Faults } from "./faults.ts";
import { handle } from "./http-handler.ts";
import { type GatewayLimits, withDefaults } from "./limits.ts";
import type { MysqlConnection } from "./mysql-connection.ts";
import { kill } from "./statement-runner.ts";

/** An idle connection of a client is kept so long; longer than clients pause between requests. */
const KEEP_ALIVE_MS = 65_000;
/** For a request's head and body to arrive. */
const REQUEST_TIMEOUT_MS = 60_000;

export interface GatewayOptions {
  /** The database, `mysql://USER:PASS@HOST:PORT/DB`. */
  dsn?: string;
  /** Instead of `dsn`, for tests: databases that play shards, and `route` to tell them apart. */
  shards?: readonly string[];
  /** Index in `shards` of the one that a statement belongs to; throws when it belongs to none or to several. */
  route?: Route;
  /** Only loopback is listened on, unless another address is given. */
  host?: string;
  /** 0 or absent: a free one. */
  port?: number;
  /** What clients must send. Letters, digits, "-", ".", "_" and "~". */
  user: string;
  password: string;
  limits?: Partial<GatewayLimits>;
  /** Called with failures that are no client's and no database's. */
  onDefect?: (error: unknown) => void;
}

export interface GatewayStats {
  /** Run on a database for clients. */
  statements: number;
  /** Execute requests, whatever became of them. */
  roundTrips: number;
  /** To the databases, idle ones included. */
  openConnections: number;
  /** Of those, with a statement or a transaction. */
  busyConnections: number;
  /** Sessions with an open transaction. */
  openSessions: number;
}

/**
 * The PlanetScale HTTP protocol (psdb.v1alpha1) in front of MySQL servers, for the driver `@planetscale/database`.
 *
 * As at PlanetScale: Execute and CreateSession, Basic authorization, a session that goes back and forth, results as
 * lengths and base64, errors of statements inside a reply of status 200, changed rows counted, statements killed and
 * transactions rolled back at their limits, results over 100,000 rows refused, a statement run to its end whatever
 * becomes of its client.
 * Otherwise: one limit for every statement (PlanetScale: 30 s for changes, 900 s for SELECT); changes of over 100,000
 * rows are not refused, since only a transaction round every statement could take them back; `SET` and whatever else
 * would outlive its statement on a connection is refused; a deadlock ends its transaction, and so does DDL; there is
 * no streaming. Written from the driver's source; sources of the error texts are in wire-error.ts.
 */
export interface Gateway {
  /** With credentials: what `DATABASE_URL` takes. */
  readonly url: string;
  readonly host: string;
  readonly port: number;
  readonly faults: Faults;
  readonly stats: GatewayStats;
  /** Ends it in order: statements under way get a moment, open transactions are rolled back. May be called again. */
  close(): Promise<void>;
}

/** Rejects with `TypeError` or `RangeError` for wrong options, and with the system's error when it cannot listen. */
export async function startGateway(options: GatewayOptions): Promise<Gateway> {
  checkCredential("user", options.user);
  checkCredential("password", options.password);
  const limits = withDefaults(options.limits ?? {});
  const pools = dsnsOf(options).map((dsn) => new ConnectionPool(parseDsn(dsn), limits));
  const executor = new Executor(pools, options.route ?? (() => 0), limits, options.user);
  const faults = new Faults();
  const { user, password } = options;
  let roundTrips = 0;
  const dropped = new Set<ServerResponse>();
  const onRoundTrip = () => {
    roundTrips++;
  };
  const handler = { user, password, limits, executor, faults, dropped, onRoundTrip };
  const onDefect = options.onDefect ?? ((error) => process.emitWarning(error as Error));

  const server = createServer({ keepAliveTimeout: KEEP_ALIVE_MS, requestTimeout: REQUEST_TIMEOUT_MS });
  server.maxConnections = limits.maxRequests;
  server.on("request", (request, response) => {
    handle(request, response, handler).catch((error) => {
      onDefect(error);
      response.destroy();
    });
  });
  const host = options.host ?? "127.0.0.1";
  server.listen(options.port ?? 0, host);
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;

  let closing: Promise<void> | undefined;
  return {
    url: `http://${user}:${password}@${host.includes(":") ? `[${host}]` : host}:${port}`,
    host,
    port,
    faults,
    get stats() {
      const sum = (count: (pool: ConnectionPool) => number) =>
        pools.reduce((total, pool) => total + count(pool), 0);
      return {
        statements: executor.statements,
        roundTrips,
        openConnections: sum((pool) => pool.openConnections),
        busyConnections: sum((pool) => pool.used.size),
        openSessions: executor.transactions.openCount,
      };
    },
    close: () => {
      if (!closing) {
        closing = close(server, executor, pools, limits.closeGraceMs);
        for (const response of dropped) response.destroy();
      }
      return closing;
    },
  };
}

function dsnsOf({ dsn, shards, route }: GatewayOptions): readonly string[] {
  if (dsn !== undefined && shards === undefined) return [dsn];
  if (dsn === undefined && shards !== undefined && shards.length > 0 && route) return shards;
  throw new TypeError("give either dsn, or shards and route");
}

async function close(
  server: Server,
  executor: Executor,
  pools: readonly ConnectionPool[],
  graceMs: number,
): Promise<void> {
  const closed = once(server, "close");
  server.close();
  server.closeIdleConnections();
  for (const pool of pools) pool.close();
  executor.transactions.close();
  const timer = setTimeout(() => {
    for (const pool of pools) for (const connection of pool.used) void end(pool, connection);
    server.closeAllConnections();
  }, graceMs);
  await closed;
  clearTimeout(timer);
}

/** With what it is doing, whose locks would stay otherwise. */
async function end(pool: ConnectionPool, connection: MysqlConnection): Promise<void> {
  await kill(pool, connection, "CONNECTION");
  connection.destroy();
}
