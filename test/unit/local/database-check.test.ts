import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { checkDatabase } from "../../../src/local/database-check.ts";
import { startLocalServer } from "../../../src/local/local-server.ts";
import { StartRefusal } from "../../../src/local/start-refusal.ts";
import { readLogConfig, type VitessConfig } from "../../../src/log/log-config.ts";
import { databaseServer, type Reply } from "./database-server.ts";

function configOf(url: string): VitessConfig {
  const read = readLogConfig({ MESSAGE_LOG: "vitess", DATABASE_URL: url });
  if (read.ok && read.log.kind === "vitess") return read.log;
  return expect.fail(`no configuration: ${JSON.stringify(read)}`);
}

async function refusal(url: string, deadlineMs?: number): Promise<string> {
  try {
    await checkDatabase(configOf(url), "demo", deadlineMs);
  } catch (error) {
    if (error instanceof StartRefusal) return error.message;
    throw error;
  }
  return expect.fail("accepted");
}

describe("the look at the database before a start", () => {
  test("reads each table, of one tenant, with the user name and password of the URL", async () => {
    const database = await databaseServer(() => ({}));
    await checkDatabase(configOf(database.url), "demo");
    expect(
      database.statements.map((sql) => /FROM (\w+) WHERE tenant = 'demo' LIMIT 1$/.exec(sql)?.[1]),
    ).toEqual(["queue_topics", "queue_groups", "queue_offsets", "queue_messages"]);
    expect([...database.logins]).toEqual(["fairlane:s3cret word"]);
    await database.close();
  });

  const missing = {
    code: "NOT_FOUND",
    message: "Table 'q.queue_groups' doesn't exist (errno 1146) (sqlstate 42S02)",
  };
  const cases: [string, (sql: string) => Reply, string][] = [
    [
      "a missing table",
      (sql) => (sql.includes("queue_groups") ? { error: missing } : {}),
      "has no table queue_groups: run npm run schema -- apply",
    ],
    [
      "a wrong password",
      () => ({ status: 401, error: { code: "UNAUTHENTICATED", message: "no" } }),
      "refuses the user name or the password",
    ],
    ["what is no database", () => ({ status: 404 }), "cannot be reached (server)"],
    [
      "an odd failure",
      () => ({ error: { code: "INTERNAL", message: "odd" } }),
      "does not let itself be read",
    ],
  ];
  test.each(cases)("refuses %s in one line, without the password", async (_what, reply, why) => {
    const database = await databaseServer(reply);
    const line = await refusal(database.url);
    expect(line).toContain(why);
    expect(line).toMatch(/^the database at 127\.0\.0\.1:\d+ /);
    expect(line).not.toMatch(/s3cret|\n/);
    await database.close();
  });

  test("refuses one that is not there, and one that does not answer", async () => {
    const database = await databaseServer(() => "hang");
    expect(await refusal(database.url, 50)).toContain("cannot be reached (timeout)");
    await database.close();
    expect(await refusal(database.url)).toContain("cannot be reached (network)");
  });
});

test("the Worker and the tenant object reach a database on loopback", async () => {
  const down = { error: { code: "UNAVAILABLE", message: "the database is being moved" } };
  const database = await databaseServer(() => down);
  const dataDir = await mkdtemp(join(tmpdir(), "fairlane-loopback-"));
  const server = await startLocalServer({
    dataDir,
    env: { MESSAGE_LOG: "vitess", DATABASE_URL: database.url },
  });
  try {
    const headers = { authorization: `Bearer ${server.token}`, "content-type": "application/json" };
    const topics = `${server.url}/v1/tenants/demo/topics`;
    const body = JSON.stringify({ messages: [{ id: "a", partitionKey: "k", body: 1 }] });
    const published = await fetch(`${topics}/t/messages`, { method: "POST", headers, body });
    expect([published.status, published.headers.get("retry-after")]).toEqual([503, "1"]);
    expect(database.statements.length).toBeGreaterThan(0);
    const before = database.statements.length;
    expect((await fetch(topics, { headers })).status).toBe(503);
    expect(database.statements.slice(before)).not.toEqual([]);
    expect([...database.logins]).toEqual(["fairlane:s3cret word"]);
  } finally {
    await server.kill();
    await database.close();
    await rm(dataDir, { recursive: true, force: true });
  }
});

test("a start whose database variables are wrong is refused before anything is made", async () => {
  const dataDir = join(tmpdir(), "fairlane-never-made");
  await expect(startLocalServer({ dataDir, env: { MESSAGE_LOG: "vitess" } })).rejects.toThrow(
    /needs DATABASE_URL/,
  );
});
