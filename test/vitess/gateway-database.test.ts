import { spawn } from "node:child_process";
import { once } from "node:events";
import { resolve } from "node:path";
import { createInterface } from "node:readline";
import { connect } from "@planetscale/database";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { startGateway } from "../../src/gateway/gateway.ts";
import { client, PASSWORD, refusal, USER, until } from "./gateway-place.ts";
import { type MariaDb, startMariaDb } from "./mariadb.ts";
import { tenantRoute } from "./shard-router.ts";

let mariaDb: MariaDb;

beforeAll(async () => {
  mariaDb = await startMariaDb();
});

afterAll(async () => {
  await mariaDb?.stop();
});

async function withTable(database: string) {
  const dsn = await mariaDb.createDatabase(database);
  await mariaDb.runSql("CREATE TABLE m (tenant VARCHAR(64), v INT)", database);
  return dsn;
}

describe("a database that goes", () => {
  test("fails what runs, keeps what was answered, and is used again when it is back", async () => {
    const dsn = await withTable("gone");
    const gateway = await startGateway({ dsn, user: USER, password: PASSWORD });
    await client(gateway).execute("INSERT INTO m VALUES ('acme', 1)");
    await Promise.all([1, 2, 3, 4].map(() => client(gateway).execute("SELECT SLEEP(0.1)")));
    expect(gateway.stats.openConnections).toBe(4);
    const session = client(gateway);
    await session.execute("BEGIN");
    await session.execute("INSERT INTO m VALUES ('acme', 2)");
    const cut = refusal(client(gateway).execute("INSERT INTO m SELECT 'acme', SLEEP(20)"));
    await until("it runs", async () => {
      const running = await mariaDb.runSql(
        "SELECT 1 FROM information_schema.processlist WHERE info LIKE 'INSERT%'",
      );
      return running.length === 1;
    });
    await mariaDb.kill9();
    expect((await cut).message).toMatch(
      /code = Canceled desc = Lost connection to MySQL server.*\(errno 2013\)/,
    );
    expect((await refusal(client(gateway).execute("SELECT 1"))).message).toMatch(
      /code = Unavailable desc = Can't connect to MySQL server: ECONNREFUSED \(errno 2002\) \(sqlstate HY000\)/,
    );
    await mariaDb.restart();
    expect((await client(gateway).execute("SELECT v FROM m")).rows).toEqual([{ v: 1 }]);
    expect((await refusal(session.execute("INSERT INTO m VALUES ('acme', 3)"))).message).toContain(
      "errno 2013",
    );
    expect((await refusal(session.execute("COMMIT"))).message).toContain("unlocked closed connection");
    await session.execute("ROLLBACK");
    expect((await session.execute("SELECT v FROM m")).rows).toEqual([{ v: 1 }]);
    expect(gateway.stats).toMatchObject({ busyConnections: 0, openSessions: 0 });
    await gateway.close();
  });

  test("that refuses its user, or has no such database, says so", async () => {
    const dsn = await withTable("refused");
    const wrong = await startGateway({
      dsn: dsn.replace(/:[^:@]+@/, ":wrong@"),
      user: USER,
      password: PASSWORD,
    });
    expect((await refusal(client(wrong).execute("SELECT 1"))).message).toMatch(
      /code = PermissionDenied desc = Access denied for user .* \(errno 1045\)/,
    );
    await wrong.close();
    const other = await startGateway({ dsn: mariaDb.dsn("nothing"), user: USER, password: PASSWORD });
    expect((await refusal(client(other).execute("SELECT 1"))).message).toMatch(/\(errno 1049\)/);
    await other.close();
  });
});

describe("two databases as shards", () => {
  async function setup() {
    const shards = [await withTable("shard0"), await withTable("shard1")];
    const route = tenantRoute((tenant) => (tenant < "m" ? 0 : 1));
    const gateway = await startGateway({ shards, route, user: USER, password: PASSWORD });
    const rows = (shard: number) => mariaDb.runSql("SELECT tenant, v FROM m ORDER BY v", `shard${shard}`);
    const end = async () => {
      await gateway.close();
      for (const shard of [0, 1]) await mariaDb.runSql(`DROP DATABASE shard${shard}`);
    };
    return { gateway, rows, end };
  }

  test("get the statements of their tenants; one that names none, or two, is an error", async () => {
    const { gateway, rows, end } = await setup();
    const session = client(gateway);
    await session.execute("INSERT INTO m (tenant, v) VALUES ('acme', 1), ('acme', 2)");
    await session.execute("INSERT INTO m (tenant, v) VALUES ('zeta', 3)");
    expect((await session.execute("SELECT v FROM m WHERE tenant = 'zeta'")).rows).toEqual([{ v: 3 }]);
    for (const sql of [
      "SELECT v FROM m",
      "SELECT v FROM m WHERE tenant = 'acme' OR tenant = 'zeta'",
      "SELECT v FROM m WHERE tenant IN ('acme', 'zeta')",
      "INSERT INTO m (tenant, v) VALUES ('acme', 4), ('zeta', 4)",
      "DELETE FROM m LIMIT 10",
    ]) {
      expect((await refusal(session.execute(sql))).message).toMatch(/unsupported: the statement names/);
    }
    expect(await rows(0)).toEqual([
      { tenant: "acme", v: 1 },
      { tenant: "acme", v: 2 },
    ]);
    expect(await rows(1)).toEqual([{ tenant: "zeta", v: 3 }]);
    await end();
  });

  test("have transactions of their own; one over two is refused", async () => {
    const { gateway, rows, end } = await setup();
    await client(gateway).transaction(async (tx) => {
      await tx.execute("INSERT INTO m (tenant, v) VALUES ('zeta', 1)");
      expect((await tx.execute("SELECT v FROM m WHERE tenant = 'zeta'")).size).toBe(1);
    });
    const crossing = client(gateway).transaction(async (tx) => {
      await tx.execute("INSERT INTO m (tenant, v) VALUES ('zeta', 2)");
      await tx.execute("INSERT INTO m (tenant, v) VALUES ('acme', 2)");
    });
    expect((await refusal(crossing)).message).toContain("transaction over two shards");
    expect([await rows(0), await rows(1)]).toEqual([[], [{ tenant: "zeta", v: 1 }]]);
    await end();
  });
});

describe("the command", () => {
  const SCRIPT = resolve(import.meta.dirname, "../../scripts/gateway.ts");

  function start(args: readonly string[], env: Record<string, string> = {}) {
    const { PATH = "" } = process.env;
    const child = spawn(process.execPath, [SCRIPT, ...args], {
      env: { PATH, ...env },
      stdio: ["ignore", "pipe", "pipe"],
    });
    let stderr = "";
    child.stderr.on("data", (chunk) => {
      stderr += chunk;
    });
    const exited = once(child, "close").then(([code]) => ({ code, stderr }));
    const firstLine = once(createInterface({ input: child.stdout }), "line").then(([line]) => String(line));
    return { child, exited, firstLine };
  }

  test.each(["SIGINT", "SIGTERM"] as const)(
    "serves until %s, with its secrets from the environment",
    async (signal) => {
      const dsn = await mariaDb.createDatabase("command");
      const env = { GATEWAY_DSN: dsn, GATEWAY_PASSWORD: PASSWORD };
      const { child, exited, firstLine } = start(["--user", USER], env);
      const [, url = ""] = /^DATABASE_URL=(http:\S+)$/.exec(await firstLine) ?? [];
      expect((await connect({ url }).execute("SELECT 1 AS one")).rows).toEqual([{ one: 1 }]);
      // Something under way keeps it: the second signal, as a terminal and npm send one each, comes while it ends.
      const last = connect({ url }).execute("SELECT SLEEP(0.5)");
      await until("it runs", async () => {
        const running = await mariaDb.runSql(
          "SELECT id FROM information_schema.processlist WHERE info LIKE 'SELECT SLEEP(%'",
        );
        return running.length > 0;
      });
      child.kill(signal);
      child.kill(signal);
      expect((await last).size).toBe(1);
      expect(await exited).toEqual({ code: 0, stderr: "" });
    },
  );

  test("ends with 2 and one line for a wrong flag", async () => {
    const { exited } = start(["--tls"]);
    expect(await exited).toEqual({
      code: 2,
      stderr: "Fairlane: Unknown option '--tls'; --help says how\n",
    });
  });

  test("ends with 1 and one line when it reaches no database, or its port is taken", async () => {
    const args = ["--user", USER, "--password", PASSWORD];
    const unreached = await start([...args, "--dsn", "mysql://a:hidden@127.0.0.1:1/d"]).exited;
    expect(unreached.code).toBe(1);
    expect(unreached.stderr).toMatch(/^Fairlane: the database cannot be used: [^\n]*ECONNREFUSED\n$/);
    expect(unreached.stderr).not.toContain("hidden");
    const dsn = await mariaDb.createDatabase("command");
    const taken = await start([...args, "--dsn", dsn, "--port", String(mariaDb.port)]).exited;
    expect(taken).toEqual({
      code: 1,
      stderr: "Fairlane: cannot listen there (EADDRINUSE): choose another --port or --host\n",
    });
  });
});
