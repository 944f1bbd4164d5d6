import { type Connection, connect, DatabaseError } from "@planetscale/database";
import { afterAll, afterEach, beforeAll, expect } from "vitest";
import { type Gateway, type GatewayOptions, startGateway } from "../../src/gateway/gateway.ts";
import { type MariaDb, startMariaDb } from "./mariadb.ts";

const DATABASE = "shop";
export const USER = "app";
export const PASSWORD = "app-password";
const UNTIL_TIMEOUT_MS = 15_000;
const POLL_MS = 10;

export interface GatewayPlace {
  mariaDb: MariaDb;
  dsn: string;
  /** A gateway for the case that calls it; closed after it. The case fails if a connection is left then. */
  start(options?: Partial<GatewayOptions>): Promise<Gateway>;
  /** Straight to the database. */
  runSql(sql: string): Promise<Record<string, unknown>[]>;
  /** Makes a table and returns its name, which no other case has. */
  makeTable(columns: string): Promise<string>;
  /** How many connections the database has that are not ours. */
  connections(): Promise<number>;
}

/** A MariaDB for the cases of the file that calls it. */
export function gatewayPlace(): GatewayPlace {
  let mariaDb: MariaDb;
  let tables = 0;
  const gateways: Gateway[] = [];
  const place: GatewayPlace = {
    get mariaDb() {
      return mariaDb;
    },
    get dsn() {
      return mariaDb.dsn(DATABASE);
    },
    start: async (options) => {
      const gateway = await startGateway({ dsn: place.dsn, user: USER, password: PASSWORD, ...options });
      gateways.push(gateway);
      return gateway;
    },
    runSql: (sql) => mariaDb.runSql(sql, DATABASE),
    makeTable: async (columns) => {
      const name = `t${++tables}`;
      await place.runSql(`CREATE TABLE ${name} (${columns})`);
      return name;
    },
    connections: async () => {
      const rows = await place.runSql(
        "SELECT count(*) AS n FROM information_schema.processlist WHERE id <> connection_id() AND db = 'shop'",
      );
      return Number(rows[0]?.n);
    },
  };
  beforeAll(async () => {
    mariaDb = await startMariaDb();
    await mariaDb.createDatabase(DATABASE);
  });
  afterEach(async () => {
    await Promise.all(gateways.splice(0).map((gateway) => gateway.close()));
    await until("no connection is left", async () => (await place.connections()) === 0);
  });
  afterAll(async () => {
    await mariaDb?.stop();
  });
  return place;
}

/** The driver's connection with a session of its own. */
export function client(gateway: Gateway, fetchWith?: typeof fetch): Connection {
  return connect({ url: gateway.url, ...(fetchWith ? { fetch: fetchWith as never } : {}) });
}

/** What the driver throws for a statement. */
export async function refusal(run: Promise<unknown>): Promise<DatabaseError> {
  const error = await run.then(
    () => null,
    (thrown: unknown) => thrown,
  );
  expect(error).toBeInstanceOf(DatabaseError);
  return error as DatabaseError;
}

/** Asks again until it holds; the reason for failing is what was waited for. */
export async function until(what: string, holds: () => Promise<boolean> | boolean): Promise<void> {
  const endAtMs = Date.now() + UNTIL_TIMEOUT_MS;
  while (!(await holds())) {
    if (Date.now() > endAtMs) throw new Error(`still waiting: ${what}`);
    await new Promise((resolve) => setTimeout(resolve, POLL_MS));
  }
}
