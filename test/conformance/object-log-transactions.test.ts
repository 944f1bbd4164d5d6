import { describe, expect, test } from "vitest";
import { AssertionFailure } from "../../src/core/assert.ts";
import { FairlaneError } from "../../src/core/failure.ts";
import { MAX_TOPICS_PER_TENANT } from "../../src/core/limits.ts";
import { migrate } from "../../src/durable/migrate.ts";
import { ObjectLog } from "../../src/log/object/object-log.ts";
import { OBJECT_SCHEMA } from "../../src/log/object/schema.generated.ts";
import { classifySqliteFailure } from "../../src/log/object/sqlite-failure.ts";
import { NodeSql } from "../sim/node-sql.ts";
import { idsOf, message, messages, offsetsOf, TOPIC } from "./samples.ts";

function setup() {
  let nowMs = Date.UTC(2026, 0, 1);
  const clock = { nowMs: () => nowMs };
  const sql = new NodeSql();
  migrate(sql, clock, OBJECT_SCHEMA);
  const log = new ObjectLog("acme", sql, clock);
  const rolledBack = (run: () => void) => {
    const give = () =>
      sql.transaction(() => {
        run();
        throw new Error("rolled back");
      });
    expect(give).toThrow("rolled back");
  };
  const stepClock = (byMs: number) => {
    nowMs += byMs;
  };
  return { log, sql, clock, rolledBack, stepClock };
}

describe("several publishes in one transaction", () => {
  test("each has its own outcome and offsets", async () => {
    const { log, sql } = setup();
    const [first, second, other] = sql.transaction(() => [
      log.appendBatch(TOPIC, messages(2)),
      log.appendBatch(TOPIC, messages(3)),
      log.appendBatch("other", messages(1)),
    ]);
    expect(first?.results).toEqual([{ duplicate: false }, { duplicate: false }]);
    expect(second?.results).toEqual([{ duplicate: true }, { duplicate: true }, { duplicate: false }]);
    expect(await offsetsOf(log)).toHaveLength(3);
    expect(await offsetsOf(log, "other")).toEqual([other?.stored?.lowestOffset]);
  });

  test("publishes to one topic may be joined beyond the size of a batch", () => {
    const { log, sql } = setup();
    const outcome = sql.transaction(() => log.appendBatch(TOPIC, messages(250)));
    expect(outcome.results).toHaveLength(250);
    expect(outcome.results.some(({ duplicate }) => duplicate)).toBe(false);
  });

  test("a refused topic leaves the others of the transaction as they were", async () => {
    const { log, sql } = setup();
    for (let made = 0; made < MAX_TOPICS_PER_TENANT; made++) await log.append(`t${made}`, [message("a")]);
    sql.transaction(() => {
      log.appendBatch("t1", [message("b")]);
      expect(() => log.appendBatch("one-more", [message("b")])).toThrow(FairlaneError);
    });
    expect(await idsOf(log, "t1")).toEqual(["a", "b"]);
    expect(await idsOf(log, "one-more")).toEqual([]);
  });
});

describe("a transaction that rolls back", () => {
  test("G9: offsets still grow afterwards", async () => {
    const { log, rolledBack } = setup();
    await log.append(TOPIC, [message("a")]);
    rolledBack(() => log.appendBatch(TOPIC, messages(50)));
    await log.append(TOPIC, [message("b")]);
    expect(await idsOf(log)).toEqual(["a", "b"]);
    expect(await offsetsOf(log)).toHaveLength(2);
  });

  test("G1: nothing of it is stored and its IDs may be published", async () => {
    const { log, rolledBack } = setup();
    rolledBack(() => log.appendBatch(TOPIC, messages(3)));
    expect(await log.loadTopics()).toEqual([]);
    expect((await log.append(TOPIC, messages(3))).results).toEqual(Array(3).fill({ duplicate: false }));
  });

  test("G11: the topic that it made is made again by the next publish, in the same turn too", async () => {
    const { log, rolledBack } = setup();
    rolledBack(() => {
      log.appendBatch(TOPIC, [message("a")]);
      log.appendBatch(TOPIC, [message("b")]);
    });
    const again = log.append(TOPIC, [message("a")]);
    expect((await again).results).toEqual([{ duplicate: false }]);
    expect((await log.loadTopics()).map(({ topic }) => topic)).toEqual([TOPIC]);
  });

  test("a failed batch stores nothing", async () => {
    const { log } = setup();
    const broken = [...messages(99), message("broken\ud800")];
    await expect(log.append(TOPIC, broken)).rejects.toMatchObject({ failure: { code: "internal" } });
    expect(await log.loadTopics()).toEqual([]);
    expect(await idsOf(log)).toEqual([]);
  });
});

test("a collision of offsets is an error, never a duplicate", async () => {
  const { log, sql, clock, stepClock } = setup();
  const second = new ObjectLog("acme", sql, clock);
  await log.append(TOPIC, [message("first")]);
  await second.append(TOPIC, [message("a")]);
  // Both have the tail in memory now; the second one moves it unseen, and the clock does not help.
  await log.append(TOPIC, [message("b")]);
  stepClock(-1000);
  await log.append(TOPIC, [message("c")]);
  await expect(second.append(TOPIC, [message("d")])).rejects.toMatchObject({ failure: { code: "internal" } });
});

test("offsets beyond 2^53 are not given", async () => {
  const { log, stepClock } = setup();
  stepClock(Number.MAX_SAFE_INTEGER / 1000);
  await expect(log.append(TOPIC, [message("a")])).rejects.toThrow(AssertionFailure);
});

describe("failures of SQLite", () => {
  const nodeError = (errcode: number) => Object.assign(new Error("x"), { errcode });

  test.each([
    ["a full disk as Node says it", nodeError(13), "store-unavailable"],
    [
      "a full disk as workerd says it",
      new Error("database or disk is full: SQLITE_FULL"),
      "store-unavailable",
    ],
    ["an extended code", nodeError(10 | (3 << 8)), "store-unavailable"],
    ["a row too large", new Error("string or blob too big: SQLITE_TOOBIG"), "payload-too-large"],
    ["a broken constraint", nodeError(19), "internal"],
    ["anything else", new TypeError("x"), "internal"],
    ["no error at all", "x", "internal"],
  ])("%s", (_, thrown, code) => {
    const failure = classifySqliteFailure(thrown);
    expect(failure).toMatchObject({ failure: { code }, cause: thrown });
  });

  test("failures of ours and assertions pass as they are", () => {
    const own = new FairlaneError({ code: "conflict", detail: "x" });
    const assertion = new AssertionFailure("x");
    expect(classifySqliteFailure(own)).toBe(own);
    expect(classifySqliteFailure(assertion)).toBe(assertion);
  });

  test("a closed database is an internal failure of every method, with its cause", async () => {
    const { log, sql } = setup();
    sql.close();
    await expect(log.tail(TOPIC)).rejects.toMatchObject({
      failure: { code: "internal" },
      cause: expect.any(Error),
    });
  });
});
