import { inspect } from "node:util";
import { describe, expect, test } from "vitest";
import { FairlaneError } from "../../../src/core/failure.ts";
import { Database } from "../../../src/log/vitess/database.ts";
import { readStatement, writeStatement } from "../../../src/log/vitess/statement.ts";
import {
  DONE,
  duplicateOf,
  type Reply,
  resultOf,
  scriptedDatabase,
  tabletError,
} from "./scripted-database.ts";

const READ = readStatement("a read", "SELECT message_offset FROM queue_messages WHERE tenant = ?");
const WRITE = writeStatement("a write", "UPDATE t SET a = ?", { isIdempotent: true });
const ONCE = writeStatement("a write once", "DELETE FROM t WHERE a = ? LIMIT 1", { isIdempotent: false });
const UNAVAILABLE = { failure: { code: "store-unavailable", retryAfterMs: expect.any(Number) } };
const DEADLOCK = tabletError(1213, "Deadlock found", "Aborted");
const LOCK_WAIT = tabletError(1205, "Lock wait timeout exceeded", "DeadlineExceeded");

test("sends one request and reads its reply", async () => {
  const fields = [
    { name: "n", type: "INT64", charset: 63 },
    { name: "s", type: "VARCHAR", charset: 255 },
  ];
  const reply = resultOf(fields, [
    ["7", "\ufeffé"],
    ["-1", null],
  ]);
  const whole = {
    result: { ...reply.result, rowsAffected: "3", insertId: "9007199254740991" },
    timing: 0.25,
  };
  const { database, requests } = scriptedDatabase([whole]);
  expect(await database.execute(READ, ["acme"])).toEqual({
    rows: [
      // Bytes, a character each, until somebody reads it as text.
      { n: 7, s: Buffer.from("\ufeffé").toString("latin1") },
      { n: -1, s: null },
    ],
    rowsAffected: 3,
    insertId: 2 ** 53 - 1,
    tookMs: 250,
    retries: 0,
  });
  expect(requests.map(({ sql }) => sql)).toEqual([
    "SELECT message_offset FROM queue_messages WHERE tenant = 'acme'",
  ]);
});

test("credentials come from a URL, decoded, or from parts", async () => {
  const { database, requests } = scriptedDatabase([DONE]);
  await database.execute(READ, ["acme"]);
  const [request] = requests;
  expect(request?.url).toBe("http://127.0.0.1:9/psdb.v1alpha1.Database/Execute");
  const sent = Buffer.from(request?.headers.Authorization?.slice("Basic ".length) ?? "", "base64").toString();
  expect(sent).toBe("ann:p@ss-wörd");
  const urls: string[] = [];
  const ports = {
    fetch: async (url: string) => {
      urls.push(url);
      return Response.json({ result: {} });
    },
  };
  await new Database({ host: "db.example", username: "u", password: "p" }, { ports }).execute(READ, ["a"]);
  await new Database({ url: "mysql://u:p@db.example/name" }, { ports }).execute(READ, ["a"]);
  await new Database({ url: "https://u:p@db.example:444" }, { ports }).execute(READ, ["a"]);
  expect(urls.map((url) => new URL(url).origin)).toEqual([
    "https://db.example",
    "https://db.example",
    "https://db.example:444",
  ]);
});

test("no session is carried from one statement to the next", async () => {
  const { database, requests } = scriptedDatabase([DONE, DONE, DEADLOCK, DONE]);
  const run = database.operation();
  await run.execute(READ, ["a"]);
  await run.execute(READ, ["a"]);
  await run.execute(WRITE, ["a"]);
  expect(requests.map(({ session }) => session)).toEqual([null, null, null, null]);
});

test("the observer sees each statement as it was sent, failed ones too", async () => {
  const seen: string[] = [];
  const { database } = scriptedDatabase([DEADLOCK, DONE], { observe: (sql) => seen.push(sql) });
  await database.execute(WRITE, ["x"]);
  expect(seen).toEqual(["UPDATE t SET a = 'x'", "UPDATE t SET a = 'x'"]);
});

describe("retries", () => {
  test.each<[string, Reply]>([
    ["a deadlock", DEADLOCK],
    ["a lock wait", LOCK_WAIT],
  ])("%s was rolled back: any statement is sent again, after growing waits", async (_what, failure) => {
    const { database, requests, waits } = scriptedDatabase([failure, failure, DONE]);
    expect((await database.execute(ONCE, [1])).retries).toBe(2);
    expect(requests).toHaveLength(3);
    expect(waits).toEqual([20, 40]);
  });

  test.each<[string, Reply]>([
    ["a broken connection", "reset"],
    ["a reply that is no JSON", { status: 200, text: "<html>" }],
    ["a proxy's error", { status: 502, text: "bad gateway" }],
    ["a server that is away", tabletError(2002, "refused", "Unavailable")],
  ])("after %s only an idempotent statement is sent again", async (_what, failure) => {
    const again = scriptedDatabase([failure, DONE]);
    expect((await again.database.execute(WRITE, [1])).retries).toBe(1);
    const once = scriptedDatabase([failure, DONE]);
    await expect(once.database.execute(ONCE, [1])).rejects.toMatchObject(UNAVAILABLE);
    expect(once.requests).toHaveLength(1);
  });

  test("end after three tries", async () => {
    const { database, requests } = scriptedDatabase(["reset", "reset", "reset", DONE]);
    await expect(database.execute(READ, ["a"])).rejects.toMatchObject(UNAVAILABLE);
    expect(requests).toHaveLength(3);
  });

  test("end with the budget of the operation", async () => {
    const { database, requests, clock, waits } = scriptedDatabase([DONE, DEADLOCK, DONE]);
    const run = database.operation();
    await run.execute(READ, ["a"]);
    clock.step(9990);
    await expect(run.execute(READ, ["a"])).rejects.toMatchObject(UNAVAILABLE);
    expect([requests.length, waits]).toEqual([2, []]);
    clock.step(10);
    await expect(run.execute(READ, ["a"])).rejects.toMatchObject(UNAVAILABLE);
    expect(requests).toHaveLength(2);
  });

  test.each<[string, Reply]>([
    ["wrong credentials", { status: 401, text: '{"error":{"code":"unauthenticated","message":"no"}}' }],
    ["a missing table", tabletError(1146, "Table 'db.queue_messages' doesn't exist", "NotFound")],
    ["anything not known", tabletError(1064, "You have an error", "InvalidArgument")],
  ])("there are none for %s", async (_what, failure) => {
    const { database, requests } = scriptedDatabase([failure, DONE]);
    await expect(database.execute(READ, ["a"])).rejects.toMatchObject(UNAVAILABLE);
    expect(requests).toHaveLength(1);
  });

  test("a duplicate is an outcome of an insert, and a failure of anything else", async () => {
    const first = scriptedDatabase([DEADLOCK, duplicateOf("PRIMARY")]);
    const outcome = await first.database.operation().insert(WRITE, [1]);
    expect(outcome).toEqual({ kind: "duplicate", key: "primary", retries: 1 });
    const second = scriptedDatabase([duplicateOf("PRIMARY")]);
    await expect(second.database.execute(WRITE, [1])).rejects.toMatchObject(UNAVAILABLE);
  });
});

describe("deadlines", () => {
  const limits = { readMs: 5, writeMs: 10, totalMs: 40 };

  test.each([
    ["read", READ],
    ["write", WRITE],
  ])("a %s that is not answered ends, and is not sent again", async (_what, statement) => {
    const { database, requests } = scriptedDatabase(["silence", DONE], { limits });
    await expect(database.execute(statement, ["a"])).rejects.toMatchObject(UNAVAILABLE);
    expect(requests).toHaveLength(1);
  });

  test("a reply whose body does not come ends as well", async () => {
    const ports = {
      fetch: async (_url: string, init: RequestInit) => {
        const body = new ReadableStream({
          start: (controller) => {
            init.signal?.addEventListener("abort", () => controller.error(init.signal?.reason));
          },
        });
        return new Response(body);
      },
    };
    const { database } = scriptedDatabase([], { limits, ports });
    await expect(database.execute(READ, ["a"])).rejects.toMatchObject(UNAVAILABLE);
  });
});

describe("secrets", () => {
  const SECRETS = /p@ss|p%40ss|wörd|w%C3%B6rd|cEBzcy|a-body/;

  test.each<[string, Reply]>([
    ["wrong credentials", { status: 401, text: '{"error":{"code":"unauthenticated","message":"ann:p@ss"}}' }],
    ["a broken connection", "reset"],
    ["a failed statement", tabletError(1064, "near 'a-body'", "InvalidArgument")],
    ["a proxy's error", { status: 500, text: "a-body" }],
    ["a duplicate", duplicateOf("PRIMARY", "a-body")],
  ])("%s shows none of them", async (_what, failure) => {
    const { database } = scriptedDatabase([failure, failure, failure]);
    const error = await database.execute(WRITE, ["a-body"]).catch((thrown) => thrown);
    expect(error).toBeInstanceOf(FairlaneError);
    expect(inspect(error, { depth: 10, showHidden: true })).not.toMatch(SECRETS);
  });
});

test("a value that cannot be read is a defect, not an outage", async () => {
  const reply = resultOf([{ name: "n", type: "UINT64", charset: 63 }], [["18446744073709551615"]]);
  const { database, requests } = scriptedDatabase([reply, DONE]);
  await expect(database.execute(READ, ["a"])).rejects.toMatchObject({ failure: { code: "internal" } });
  expect(requests).toHaveLength(1);
});
