import { expect, test } from "vitest";
import type { NewMessage } from "../../src/log/message-log.ts";
import { LateDatabase } from "./late-database.ts";
import { LateLog } from "./late-log.ts";
import type { InsertFate } from "./late-table.ts";

const COMMIT_HORIZON_MS = 5000;
const KILL_AFTER_MS = 4000;
const ALL = { afterOffset: 0, maxEntries: 100 };

/** A log whose inserts have the given fates in turn, then commit at once; time moves by `pass` alone. */
function setup(fates: InsertFate[], tellsOffsets = true) {
  let nowMs = Date.UTC(2026, 0, 1);
  let waiting: { atMs: number; resolve: () => void }[] = [];
  const database = new LateDatabase(
    {
      nowMs: () => nowMs,
      trueMs: () => nowMs,
      drawFate: () => fates.shift() ?? { openMs: 0, fails: false },
      wait: (delayMs) => new Promise((resolve) => waiting.push({ atMs: nowMs + delayMs, resolve })),
      betweenStatements: async () => {},
    },
    { killAfterMs: KILL_AFTER_MS, tellsOffsets },
  );
  const pass = async (byMs: number) => {
    nowMs += byMs;
    const due = waiting.filter(({ atMs }) => atMs <= nowMs);
    waiting = waiting.filter(({ atMs }) => atMs > nowMs);
    for (const { resolve } of due) resolve();
    await new Promise((resolve) => setImmediate(resolve));
  };
  const log = new LateLog("acme", database, { commitHorizonMs: COMMIT_HORIZON_MS });
  const publish = (...ids: string[]) => log.append("orders", ids.map(message));
  const seen = async () => (await log.listMessages("orders", ALL)).map(({ id }) => id);
  return { log, pass, publish, seen };
}

function message(id: string): NewMessage {
  return { id, partitionKey: "k", body: "1", contentType: null, headers: "", delayMs: 0 };
}

const open = (openMs: number): InsertFate => ({ openMs, fails: false });

test("an insert gives its offsets when it begins and is seen when it commits", async () => {
  const { pass, publish, seen } = setup([open(3000)]);
  const first = publish("a", "b");
  await pass(1);
  const second = await publish("c");
  expect(second).toMatchObject({ late: false });
  expect(await seen()).toEqual(["c"]);
  await pass(3000);
  expect(await seen()).toEqual(["a", "b", "c"]);
  const outcome = await first;
  expect(outcome.late).toBe(true);
  expect(outcome.stored?.highestOffset).toBeLessThan(second.stored?.lowestOffset ?? 0);
});

test("a publish that takes the usual time is not late", async () => {
  const { pass, publish } = setup([open(20), open(21)]);
  const usual = publish("a");
  await pass(20);
  expect((await usual).late).toBe(false);
  const late = publish("b");
  await pass(21);
  expect((await late).late).toBe(true);
});

test("a publish of the same ID waits for an open one and is a duplicate of it", async () => {
  const { pass, publish, seen } = setup([open(3000)]);
  const first = publish("a");
  const again = publish("a", "b");
  await pass(3000);
  const stored = (await first).stored;
  const outcome = await again;
  expect(outcome.results).toEqual([{ duplicate: true }, { duplicate: false }]);
  expect(outcome.late).toBe(true);
  expect(outcome.stored?.lowestOffset).toBe(stored?.lowestOffset);
  expect(await seen()).toEqual(["a", "b"]);
});

test("it stores what an open one of the same ID left when that was rolled back, at its own old offset", async () => {
  const { pass, publish, log } = setup([{ openMs: 1000, fails: true }]);
  const first = expect(publish("a")).rejects.toMatchObject({ failure: { code: "store-unavailable" } });
  await pass(1);
  const again = publish("a");
  await pass(1);
  const { stored } = await publish("b");
  await pass(1000);
  await first;
  const outcome = await again;
  expect(outcome).toMatchObject({ results: [{ duplicate: false }], late: true });
  expect(outcome.stored?.highestOffset).toBeLessThan(stored?.lowestOffset ?? 0);
  expect((await log.scanTopic("orders", ALL)).entries).toHaveLength(2);
});

test("an insert that is open for too long is rolled back", async () => {
  const { pass, publish, seen } = setup([open(KILL_AFTER_MS + 1), open(KILL_AFTER_MS)]);
  const killed = expect(publish("a")).rejects.toThrow();
  const kept = publish("b");
  await pass(KILL_AFTER_MS);
  await kept;
  await pass(1);
  await killed;
  expect(await seen()).toEqual(["b"]);
});

test("two batches that wait for each other's IDs end, and each ID is stored once", async () => {
  // Two that are rolled back hold one ID each; meanwhile two others come for both, in opposite orders.
  const { pass, publish, seen } = setup([
    { openMs: 500, fails: true },
    { openMs: 900, fails: true },
  ]);
  const held = [publish("a"), publish("b")].map((one) => expect(one).rejects.toThrow());
  const [forth, back] = [publish("c", "a", "b"), publish("d", "b", "a")];
  await pass(500);
  await pass(400);
  await Promise.all(held);
  const outcomes = [await forth, await back];
  expect(outcomes.flatMap(({ results }) => results).filter(({ duplicate }) => duplicate)).toHaveLength(2);
  expect((await seen()).sort()).toEqual(["a", "b", "c", "d"]);
});

test("a database that does not tell offsets leaves them out; a duplicate is known by itself", async () => {
  const { publish } = setup([], false);
  expect(await publish("a")).toMatchObject({ results: [{ duplicate: false }], stored: null });
  expect((await publish("a")).stored).not.toBeNull();
});

test("a duplicate older than the horizon is no news", async () => {
  const { pass, publish } = setup([]);
  await publish("a");
  await pass(COMMIT_HORIZON_MS);
  expect(await publish("a")).toEqual({ results: [{ duplicate: true }], stored: null, late: false });
});
