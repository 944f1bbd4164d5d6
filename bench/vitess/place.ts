import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import type { GatewayStats } from "../../src/gateway/gateway.ts";
import { type MariaDb, mariaDbInstalled, startMariaDb } from "../../test/vitess/mariadb.ts";
import { ChildProgram } from "../load/child-program.ts";
import { withServer } from "../server.ts";
import type { GatewayAnswer, GatewayOrder } from "./gateway-program.ts";

const SCHEMA = join(import.meta.dirname, "../../schema/vitess");
const GATEWAY_ENTRY = join(import.meta.dirname, "gateway-program.ts");
/** What a deployment has unless it says otherwise. */
export const DEFAULT_HORIZON_MS = 120_000;
const METERED_ENTRY = "metered/worker.ts";

/** A database with the tables, and the gateway before it. */
export interface VitessPlace {
  readonly mariaDb: MariaDb;
  readonly database: string;
  readonly gateway: GatewayProcess;
}

export interface ServedPlace extends VitessPlace {
  readonly url: string;
  readonly token: string;
}

/** One MariaDB for a whole run. Throws where it is not installed. */
export async function withMariaDb<T>(use: (mariaDb: MariaDb) => Promise<T>): Promise<T> {
  if (!mariaDbInstalled()) throw new MariaDbMissing();
  const mariaDb = await startMariaDb();
  try {
    return await use(mariaDb);
  } finally {
    await mariaDb.stop();
  }
}

export class MariaDbMissing extends Error {
  override name = "MariaDbMissing";

  constructor() {
    super("--log vitess needs mariadbd and mariadb-install-db (Debian: apt-get install mariadb-server)");
  }
}

/** A database and a gateway of its own while `use` runs. */
export async function withPlace<T>(
  mariaDb: MariaDb,
  database: string,
  use: (place: VitessPlace) => Promise<T>,
): Promise<T> {
  const dsn = await mariaDb.createDatabase(database);
  try {
    for (const file of readdirSync(SCHEMA).filter((name) => name.endsWith(".sql"))) {
      await mariaDb.runSql(readFileSync(join(SCHEMA, file), "utf8"), database);
    }
    const gateway = await GatewayProcess.start(dsn);
    try {
      return await use({ mariaDb, database, gateway });
    } finally {
      gateway.end();
    }
  } finally {
    await mariaDb.runSql(`DROP DATABASE ${database}`);
  }
}

/** The Worker, metered or not, on fresh objects: they know nothing of what the database holds. */
export async function withServedPlace<T>(
  place: VitessPlace,
  { metered = false, horizonMs = DEFAULT_HORIZON_MS }: { metered?: boolean; horizonMs?: number },
  use: (served: ServedPlace) => Promise<T>,
): Promise<T> {
  return withServer(metered ? METERED_ENTRY : null, ({ url, token }) => use({ ...place, url, token }), {
    MESSAGE_LOG: "vitess",
    DATABASE_URL: place.gateway.url,
    COMMIT_HORIZON_MS: String(horizonMs),
  });
}

export class GatewayProcess {
  readonly url: string;
  private readonly program: ChildProgram<GatewayOrder, GatewayAnswer>;

  static async start(dsn: string): Promise<GatewayProcess> {
    const program = new ChildProgram<GatewayOrder, GatewayAnswer>("the gateway", GATEWAY_ENTRY);
    try {
      const order = { start: { dsn, user: "bench", password: "bench-password" } };
      const { url } = await program.ask<{ url: string }>(order);
      return new GatewayProcess(url, program);
    } catch (error) {
      program.end();
      throw error;
    }
  }

  private constructor(url: string, program: ChildProgram<GatewayOrder, GatewayAnswer>) {
    this.url = url;
    this.program = program;
  }

  stats(): Promise<GatewayStats> {
    return this.program.ask<GatewayStats>("stats");
  }

  end(): void {
    this.program.end();
  }
}
