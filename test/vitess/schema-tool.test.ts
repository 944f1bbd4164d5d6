import { spawnSync } from "node:child_process";
import { resolve } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { runSchemaCommand } from "../../scripts/schema/run-command.ts";
import { type MariaDb, startMariaDb } from "./mariadb.ts";

const ROOT = resolve(import.meta.dirname, "../..");
const TABLES = ["queue_groups", "queue_messages", "queue_offsets", "queue_topics"];

let mariaDb: MariaDb;
beforeAll(async () => {
  mariaDb = await startMariaDb();
});
afterAll(async () => {
  await mariaDb?.stop();
});

let databases = 0;
/** An empty database of its own. */
async function setup() {
  const name = `schema_${++databases}`;
  const dsn = await mariaDb.createDatabase(name);
  const run = (...args: string[]) => runAs(dsn, ...args);
  const tables = async () => {
    const rows = await mariaDb.runSql(`SHOW TABLES FROM ${name}`);
    return rows.map((row) => String(Object.values(row)[0]));
  };
  return { name, dsn, run, tables };
}

async function runAs(dsn: string, ...args: string[]) {
  const [said, complaints]: [string[], string[]] = [[], []];
  const terminal = {
    say: (line: string) => said.push(line),
    complain: (line: string) => complaints.push(line),
  };
  const code = await runSchemaCommand(args, { SCHEMA_DSN: dsn }, terminal);
  return { code, said, complaints };
}

/** A user of the server that may do what is granted; `dsn` with it. */
async function otherUser(dsn: string, name: string, grants: readonly string[]): Promise<string> {
  const account = `'${name}'@'127.0.0.1'`;
  await mariaDb.runSql(`CREATE USER ${account} IDENTIFIED BY 'other-secret'`);
  for (const grant of grants) await mariaDb.runSql(`GRANT ${grant} TO ${account}`);
  const url = new URL(dsn);
  url.username = name;
  url.password = "other-secret";
  return url.href;
}

describe("apply", () => {
  test("makes all tables of an empty database, and then has nothing to do", async () => {
    const { run, tables } = await setup();
    const first = await run("apply");
    expect(first.complaints).toEqual([]);
    expect(first.code).toBe(0);
    expect(first.said.map((line) => line.replace(/[0-9]+ ms/, "N ms"))).toEqual([
      ...TABLES.map((name, place) => `${place + 1}/4 ${name}: made in N ms`),
      "done: all 4 tables are there",
    ]);
    expect(await tables()).toEqual(TABLES);
    const again = await run("apply");
    expect(again).toEqual({
      code: 0,
      complaints: [],
      said: ["nothing to do: all 4 tables are there as they should be"],
    });
  });

  test("on a dry run shows the statements of what is missing, and changes nothing", async () => {
    const { run, tables } = await setup();
    const { code, said } = await run("apply", "--dry-run");
    expect(code).toBe(0);
    expect(said).toHaveLength(5);
    expect(said.slice(0, 4).every((text, place) => text.includes(`CREATE TABLE ${TABLES[place]} (`))).toBe(
      true,
    );
    expect(said.at(-1)).toBe("dry run: 4 of 4 tables would be made; nothing was changed");
    expect(await tables()).toEqual([]);
  });

  test("that fails in the middle goes on the next time", async () => {
    const { name, dsn, tables } = await setup();
    const grants = [
      `SELECT ON ${name}.*`,
      `CREATE ON ${name}.queue_groups`,
      `CREATE ON ${name}.queue_messages`,
    ];
    const limited = await otherUser(dsn, "maker", grants);
    const stopped = await runAs(limited, "apply");
    expect(stopped.code).toBe(1);
    expect(stopped.complaints).toHaveLength(1);
    expect(stopped.complaints[0]).toMatch(
      /^schema apply: 3\/4 queue_offsets: ER_TABLEACCESS_DENIED_ERROR: .*2 of 4 were made: see to this, then run apply again$/,
    );
    expect(await tables()).toEqual(["queue_groups", "queue_messages"]);
    await mariaDb.runSql(`GRANT CREATE ON ${name}.* TO 'maker'@'127.0.0.1'`);
    const resumed = await runAs(limited, "apply");
    expect(resumed.code).toBe(0);
    expect(resumed.said.map((line) => line.split(":")[0])).toEqual([
      "1/2 queue_offsets",
      "2/2 queue_topics",
      "done",
    ]);
    expect(await tables()).toEqual(TABLES);
  });

  test.each([
    [
      "a narrower column",
      "MODIFY topic VARCHAR(64) CHARACTER SET ascii COLLATE ascii_bin NOT NULL",
      "column topic: type is varchar(64), not varchar(128)",
    ],
    [
      "another collation",
      "MODIFY topic VARCHAR(128) CHARACTER SET ascii COLLATE ascii_general_ci NOT NULL",
      "column topic: collation is ascii_general_ci, not ascii_bin",
    ],
    ["a column more", "ADD COLUMN extra INT NULL", "column extra is not in the file"],
    ["a key less", "DROP KEY queue_messages_by_due", "key queue_messages_by_due is missing"],
    [
      "a key the other way round",
      "DROP PRIMARY KEY, ADD PRIMARY KEY (topic, tenant, message_offset)",
      "key PRIMARY is unique (topic, tenant, message_offset), not unique (tenant, topic, message_offset)",
    ],
  ])("leaves a table with %s alone, and makes no other", async (_what, change, difference) => {
    const { name, run, tables } = await setup();
    await run("apply");
    await mariaDb.runSql(`ALTER TABLE ${name}.queue_messages ${change}`);
    await mariaDb.runSql(`DROP TABLE ${name}.queue_topics`);
    const { code, complaints } = await run("apply");
    expect(code).toBe(1);
    expect(complaints).toEqual([
      `schema apply: queue_messages (${difference}): differs from the file, and apply alters no table: change it by hand, or use another database`,
    ]);
    expect(await tables()).not.toContain("queue_topics");
  });
});

describe("status", () => {
  test("says of each table how it is", async () => {
    const { name, run } = await setup();
    const empty = await run("status");
    expect(empty).toEqual({ code: 1, complaints: [], said: TABLES.map((table) => `${table}: missing`) });
    await run("apply");
    const full = await run("status");
    expect(full).toEqual({
      code: 0,
      complaints: [],
      said: TABLES.map((table) => `${table}: present, about 0 rows`),
    });
    await mariaDb.runSql(`ALTER TABLE ${name}.queue_topics MODIFY retention_ms INT NULL DEFAULT 5`);
    await mariaDb.runSql(`CREATE TABLE ${name}.somebody_elses (a INT)`);
    const differing = await run("status");
    expect(differing.code).toBe(1);
    expect(differing.said.at(-1)).toBe(
      "queue_topics: differs, about 0 rows: column retention_ms: type is int, not bigint; " +
        "column retention_ms: NULL is allowed, not refused; column retention_ms: default is 5, not none",
    );
  });
});

describe("verify", () => {
  test("is content with MariaDB as it comes, and leaves no row", async () => {
    const { name, run } = await setup();
    await run("apply");
    const { code, said, complaints } = await run("verify");
    expect(complaints).toEqual([]);
    expect(said.filter((line) => line.startsWith("FAILED"))).toEqual([]);
    expect(code).toBe(0);
    for (const check of [
      "writing",
      "one clock a statement",
      "LAST_INSERT_ID(value)",
      "max_allowed_packet",
      "clock",
    ]) {
      expect(
        said.some((line) => line.startsWith(`ok       ${check}: `)),
        check,
      ).toBe(true);
    }
    // The server has no limit of its own.
    expect(said.some((line) => line.startsWith("warning  commit horizon: "))).toBe(true);
    expect(await mariaDb.runSql(`SELECT * FROM ${name}.queue_messages`)).toEqual([]);
  });

  test("fails where tables are missing", async () => {
    const { run } = await setup();
    const { code, said } = await run("verify");
    expect(code).toBe(1);
    expect(said).toContain("FAILED   queue_topics: missing: run apply");
    expect(said.some((line) => line.startsWith("FAILED   writing: not tried"))).toBe(true);
  });

  test("compares the server's limits with the horizon", async () => {
    const { run } = await setup();
    await run("apply");
    const { code, said } = await run("verify", "--horizon-ms", "5000");
    expect(code).toBe(1);
    expect(said.some((line) => line.startsWith("FAILED   commit horizon: a statement waits 50000 ms"))).toBe(
      true,
    );
  });

  test("fails with a user that may only read", async () => {
    const { name, dsn, run } = await setup();
    await run("apply");
    const reader = await otherUser(dsn, "reader", [`SELECT ON ${name}.*`]);
    const { code, said } = await runAs(reader, "verify");
    expect(code).toBe(1);
    expect(said.some((line) => line.startsWith("FAILED   writing: ER_TABLEACCESS_DENIED_ERROR"))).toBe(true);
  });

  test("fails with a small max_allowed_packet and a mode that is not strict, and sees good limits", async () => {
    const options = [
      ...["--max-allowed-packet=4M", "--sql-mode=NO_ENGINE_SUBSTITUTION"],
      ...[
        "--innodb-lock-wait-timeout=2",
        "--max-statement-time=2",
        "--transaction-isolation=READ-UNCOMMITTED",
      ],
      "--default-time-zone=+02:00",
    ];
    const server = await startMariaDb({ options });
    try {
      const dsn = await server.createDatabase("queue");
      expect((await runAs(dsn, "apply")).code).toBe(0);
      const { code, said } = await runAs(dsn, "verify", "--horizon-ms=5000");
      expect(code).toBe(1);
      expect(said.filter((line) => line.startsWith("FAILED")).map((line) => line.split(":")[0])).toEqual([
        "FAILED   max_allowed_packet",
        "FAILED   sql_mode",
        "FAILED   transaction isolation",
      ]);
      expect(said.find((line) => line.includes("commit horizon"))).toMatch(/^ok /);
      expect(said.find((line) => line.includes("time zone"))).toMatch(
        /^warning {2}time zone: 7200 s from UTC/,
      );
    } finally {
      await server.stop();
    }
  });
});

describe("a connection that fails", () => {
  test("is told in one line, without the password", async () => {
    const { dsn } = await setup();
    const changed = (change: (url: URL) => void) => {
      const url = new URL(dsn);
      change(url);
      return runAs(url.href, "status");
    };
    const cases: [Awaited<ReturnType<typeof changed>>, string][] = [
      [await changed((url) => (url.password = "wrong-secret")), "does not accept the user fairlane"],
      [await changed((url) => (url.pathname = "/nowhere")), "has no database nowhere"],
      [await changed((url) => (url.search = "?tls=true")), "has no TLS"],
      [await runAs(await otherUser(dsn, "nobody", []), "status"), "may not use the database"],
    ];
    for (const [{ code, said, complaints }, expected] of cases) {
      expect(code).toBe(1);
      expect(said).toEqual([]);
      expect(complaints).toHaveLength(1);
      expect(complaints[0]).toContain(expected);
      expect(complaints[0]).not.toMatch(/secret|\n/);
      expect(complaints[0]).not.toContain(new URL(dsn).password);
    }
  });
});

test("the program itself runs, with its exit code", async () => {
  const { dsn } = await setup();
  const run = (...args: string[]) =>
    spawnSync(process.execPath, ["scripts/schema.ts", ...args], {
      cwd: ROOT,
      encoding: "utf8",
      env: { PATH: process.env.PATH, SCHEMA_DSN: dsn },
    });
  expect(run("apply").status).toBe(0);
  expect(run("status").status).toBe(0);
  const wrong = run("aply");
  expect([wrong.status, wrong.stdout]).toEqual([2, ""]);
  expect(wrong.stderr).toMatch(/^schema: give one command.*\n$/);
});
