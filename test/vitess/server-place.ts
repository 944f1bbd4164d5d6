import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { type Gateway, type GatewayOptions, startGateway } from "../../src/gateway/gateway.ts";
import { type Live, type ServerLog, type SetupOptions, setup, useServerLog } from "../live/harness.ts";
import { type MariaDb, startMariaDb } from "./mariadb.ts";

const SCHEMA = join(import.meta.dirname, "../../schema/vitess");
const USER = "server";
const PASSWORD = "server-password";

/** A database with the schema, and a gateway before it. */
export interface ServerDatabase {
  gateway: Gateway;
  dsn: string;
  /** In `MariaDb.runSql`. */
  name: string;
  /** What a server's Worker has to be told to use it. */
  variables: Record<string, string>;
}

/** A MariaDB, with a database and a gateway for each server. */
export class ServerPlace {
  readonly mariaDb: MariaDb;
  private readonly gateways: Gateway[] = [];
  private databases = 0;

  /** `durable`: what is answered survives `kill9`. Otherwise it is quicker. */
  static async start({ durable = true } = {}): Promise<ServerPlace> {
    const options = durable ? [] : ["--innodb-flush-log-at-trx-commit=0"];
    return new ServerPlace(await startMariaDb({ options }));
  }

  private constructor(mariaDb: MariaDb) {
    this.mariaDb = mariaDb;
  }

  async database(options: { commitHorizonMs?: number } = {}): Promise<ServerDatabase> {
    const { name, dsn } = await this.shard();
    return { name, dsn, ...(await this.gateway({ dsn }, options)) };
  }

  /** A database with the schema and nothing before it. */
  async shard(): Promise<{ name: string; dsn: string }> {
    this.databases += 1;
    const name = `server_${this.databases}`;
    const dsn = await this.mariaDb.createDatabase(name);
    for (const file of readdirSync(SCHEMA).filter((path) => path.endsWith(".sql"))) {
      await this.mariaDb.runSql(readFileSync(join(SCHEMA, file), "utf8"), name);
    }
    return { name, dsn };
  }

  /** Closed with the place. */
  async gateway(
    before: Pick<GatewayOptions, "dsn" | "shards" | "route">,
    options: { commitHorizonMs?: number } = {},
  ): Promise<{ gateway: Gateway; variables: Record<string, string> }> {
    const gateway = await startGateway({ ...before, user: USER, password: PASSWORD });
    this.gateways.push(gateway);
    const { commitHorizonMs } = options;
    const variables = {
      MESSAGE_LOG: "vitess",
      DATABASE_URL: gateway.url,
      ...(commitHorizonMs === undefined ? {} : { COMMIT_HORIZON_MS: String(commitHorizonMs) }),
    };
    return { gateway, variables };
  }

  /** On the database, which stays when the server goes. */
  server({ variables }: Pick<ServerDatabase, "variables">, options?: SetupOptions): Promise<Live> {
    useServerLog({ kind: "vitess", variables: async () => variables });
    return setup(options);
  }

  /** For servers of the live suites: each gets a database of its own. */
  serverLog(options: { commitHorizonMs?: number } = {}): ServerLog {
    return { kind: "vitess", variables: async () => (await this.database(options)).variables };
  }

  async stop(): Promise<void> {
    await Promise.all(this.gateways.map((gateway) => gateway.close()));
    await this.mariaDb.stop();
  }
}
