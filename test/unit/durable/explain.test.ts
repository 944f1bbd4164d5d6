import { describe, expect, test } from "vitest";
import type { CommandInput } from "../../../src/durable/engine.ts";
import type { Explanation } from "../../../src/protocol/tenant-calls.ts";
import { logUnreachable } from "../../sim/gated-log.ts";
import { Bench, numbered } from "./harness.ts";
import { LateBench } from "./late-bench.ts";

const AT = { topic: "t", group: "g" };

function explain(bench: Bench | LateBench, id: string, more: Partial<CommandInput<"explain">> = {}) {
  return bench.call("explain", { ...AT, partitionKey: "k", id, offset: null, ...more });
}

const byOffset = (offset: number) => ({ id: null, offset });

function kinds({ blockers }: Explanation): string[] {
  return blockers.map(({ kind }) => kind);
}

/** Every row of the group, so that a change of any of them shows. */
function rowsOf(bench: Bench): unknown[] {
  const tables = bench.sql.all("SELECT name FROM sqlite_master WHERE type = 'table' ORDER BY name");
  return tables.map(({ name }) => bench.sql.all(`SELECT * FROM ${String(name)}`));
}

describe("which message is meant", () => {
  test("by ID or by offset it is the same one, with what is known of it", async () => {
    const bench = new Bench();
    await bench.putGroup("t", "g");
    const [offset = 0] = await bench.publish("t", [{ id: "a" }]);
    const byId = await explain(bench, "a");
    expect(byId).toEqual({
      ...AT,
      partitionKey: "k",
      id: "a",
      offset,
      publishedAt: bench.nowMs,
      dueAt: bench.nowMs,
      state: "waiting",
      summary: "The group has no live subscriber: it is delivered when one receives.",
      maxAttempts: 3,
      until: null,
      blockers: [{ kind: "no-subscriber" }],
      lease: null,
      nextChangeAt: bench.nowMs + 604_800_000,
      nextState: "expired",
      at: bench.nowMs,
    });
    expect(await explain(bench, "", byOffset(offset))).toEqual(byId);
  });

  test("what is not there, or not in this partition, is not found", async () => {
    const bench = new Bench();
    await bench.putGroup("t", "g");
    const [offset = 0] = await bench.publish("t", [{ id: "a" }]);
    for (const more of [
      { id: "b" },
      { partitionKey: "other" },
      byOffset(offset + 1),
      byOffset(0),
      { ...byOffset(offset), partitionKey: "other" },
    ]) {
      const found = await explain(bench, "a", more);
      expect(found).toMatchObject({
        state: "not-found",
        publishedAt: null,
        blockers: [],
        nextChangeAt: null,
      });
    }
    expect(
      await bench.failure("explain", { ...AT, group: "none", partitionKey: "k", id: "a", offset: null }),
    ).toBe("not-found");
    expect(
      await bench.failure("explain", { ...AT, topic: "u", partitionKey: "k", id: "a", offset: null }),
    ).toBe("not-found");
  });

  test("a redriven copy that is not settled comes before the settled original, and is one group's alone", async () => {
    const bench = new Bench();
    await bench.putGroup("t", "g", { maxAttempts: 1 });
    await bench.putGroup("t", "other");
    const [offset = 0] = await bench.publish("t", [{ id: "a" }]);
    await bench.settle("t", "g", await bench.take("t", "g"), { action: "reject", reason: "broken" });
    const dead = await explain(bench, "a");
    expect(dead).toMatchObject({
      state: "dead-lettered",
      offset,
      deadLetter: { group: "g", reason: "broken", attempts: 1, failedAt: bench.nowMs, originalTopic: "t" },
    });
    expect(await explain(bench, "a", { group: "other" })).toMatchObject({ state: "waiting", offset });
    await bench.advance(10);
    await bench.call("redrive", { topic: "t", ids: null, group: null, limit: null });
    const copy = await explain(bench, "a");
    expect(copy).toMatchObject({ state: "deliverable", id: "a" });
    expect(copy.offset).toBeGreaterThan(offset);
    // The original is settled, and its dead letter is gone.
    expect(await explain(bench, "", byOffset(offset))).toMatchObject({ state: "settled", offset });
    const others = await explain(bench, "", { ...byOffset(copy.offset ?? 0), group: "other" });
    expect(others).toMatchObject({ state: "other-group", targetGroup: "g", offset: copy.offset });
    await bench.settle("t", "g", await bench.take("t", "g"));
    expect(await explain(bench, "a")).toMatchObject({ state: "settled", offset });
  });

  test("a message that was collected is known by its dead letter; another group's dead letter is not its own", async () => {
    const bench = new Bench();
    await bench.putGroup("t", "g");
    await bench.publish("t", [{ id: "a" }]);
    await bench.settle("t", "g", await bench.take("t", "g"), { action: "reject", reason: "broken" });
    await bench.call("purgeMessages", { topic: "t" });
    expect(await explain(bench, "a")).toMatchObject({
      state: "dead-lettered",
      offset: null,
      publishedAt: null,
    });
    await bench.putGroup("t", "other");
    expect(await explain(bench, "a", { group: "other" })).toMatchObject({ state: "not-found" });
    expect(await explain(bench, "a", { topic: "t_dlq" }).catch(String)).toMatch(/not-found/);
  });

  test("what was there before a group that starts from latest is settled for it", async () => {
    const bench = new Bench();
    await bench.publish("t", [{ id: "a" }]);
    await bench.putGroup("t", "g", { startFrom: "latest" });
    expect(await explain(bench, "a")).toMatchObject({ state: "settled" });
  });

  test("a reset brings settled messages back, and puts delayed ones aside", async () => {
    const bench = new Bench();
    await bench.putGroup("t", "g");
    const [a = 0] = await bench.publish("t", [{ id: "a" }]);
    await bench.settle("t", "g", await bench.take("t", "g"));
    expect(await explain(bench, "a")).toMatchObject({ state: "settled" });
    await bench.call("resetOffset", { ...AT, partitionKey: "k", offset: a - 1 });
    expect(await explain(bench, "a")).toMatchObject({ state: "deliverable" });
    const [late = 0] = await bench.publish("t", [{ id: "late", delayMs: 60_000 }]);
    expect(await explain(bench, "late")).toMatchObject({ state: "delayed", until: bench.nowMs + 60_000 });
    await bench.call("resetOffset", { ...AT, partitionKey: "k", offset: late });
    expect(await explain(bench, "late")).toMatchObject({ state: "settled" });
  });
});

test("it changes nothing: no row, no lease, no heartbeat, no grant", async () => {
  const bench = new Bench();
  await bench.publish("t", [...numbered(3), ...numbered(2, "q", "q")]);
  const taken = await bench.take("t", "g", { maxMessages: 2 });
  await bench.settle("t", "g", taken.slice(0, 1), { action: "nack", reason: "no", delayMs: 5000 });
  await explain(bench, "m2");
  const before = rowsOf(bench);
  bench.nowMs += 500;
  for (const id of ["m0", "m1", "m2", "none"]) await explain(bench, id);
  await explain(bench, "q0", { partitionKey: "q" });
  await bench.call("waitingLanes", { ...AT, limit: 20 });
  expect(rowsOf(bench)).toEqual(before);
});

describe("who asks", () => {
  test("a waiting receive asks, however long it waits", async () => {
    const bench = new Bench();
    await bench.publish("t", [{ id: "a" }]);
    await bench.settle("t", "g", await bench.take("t", "g"), { action: "nack", delayMs: 60_000 });
    const begunMs = bench.nowMs;
    void bench.take("t", "g", { waitMs: 20_000 });
    await bench.advance(9000);
    // Not the receive's end: who asks is taken to ask again.
    const due = { nextChangeAt: begunMs + 60_000, nextState: "deliverable" };
    expect(await explain(bench, "a")).toMatchObject({ blockers: [], ...due });
    await bench.advance(begunMs + 21_900 - bench.nowMs);
    expect(await explain(bench, "a")).toMatchObject({ blockers: [], ...due });
    await bench.advance(100);
    const alone = await explain(bench, "a");
    expect(kinds(alone)).toEqual(["nobody-asking"]);
    expect(alone).toMatchObject({ nextChangeAt: begunMs + 60_000, nextState: "waiting" });
  });

  test("and is a heartbeat until it ends", async () => {
    const bench = new Bench();
    await bench.publish("t", [{ id: "a" }]);
    await bench.take("t", "g", { subscriber: "ann", visibilityTimeoutMs: 3_600_000 });
    await bench.call("releaseLease", { ...AT, partitionKey: "k" });
    const begunMs = bench.nowMs;
    void bench.take("t", "g", { subscriber: "bob", waitMs: 20_000 });
    await bench.advance(0);
    const said = await explain(bench, "a");
    expect(said).toMatchObject({ state: "in-flight", blockers: [], lease: null });
    expect(said.nextChangeAt).toBe(begunMs + 3_600_000);
    await bench.advance(50_000 - 1);
    expect(kinds(await explain(bench, "a"))).toEqual([]);
    await bench.advance(1);
    expect(kinds(await explain(bench, "a"))).toEqual(["no-subscriber"]);
  });

  test("whether an owner who does not ask keeps its lane may change with another lane's time", async () => {
    const bench = new Bench();
    await bench.putGroup("t", "g", { leaseDurationMs: 60_000 });
    for (const partitionKey of ["held", "later", "last"])
      await bench.publish("t", [{ id: "a", partitionKey }]);
    const mine = await bench.take("t", "g", { subscriber: "ann", visibilityTimeoutMs: 3_600_000 });
    const of = (key: string) => mine.filter(({ partitionKey }) => partitionKey === key);
    await bench.settle("t", "g", of("later"), { action: "nack", delayMs: 30_000 });
    await bench.settle("t", "g", of("last"));
    await bench.publish("t", [{ id: "b", partitionKey: "bobs" }]);
    await bench.advance(3000);
    await bench.take("t", "g", { subscriber: "bob", visibilityTimeoutMs: 3_600_000 });
    await bench.publish("t", [{ id: "b", partitionKey: "last" }]);
    void bench.take("t", "g", { subscriber: "bob", waitMs: 20_000 });
    await bench.advance(10_000);
    void bench.take("t", "g", { subscriber: "bob", waitMs: 20_000, takeId: "second" });
    await bench.advance(10_000);
    const before = await explain(bench, "b", { partitionKey: "last" });
    expect(before.blockers).toMatchObject([{ kind: "lease", subscriber: "ann" }]);
    const later = await explain(bench, "a", { partitionKey: "later" });
    // What shares will say then is not foretold: named is what is certain.
    expect(before.nextChangeAt).toBe(before.lease?.expiresAt);
    await bench.advance((later.until ?? 0) - bench.nowMs);
    // Three lanes of ann and one of bob: one of hers goes to the one who asks.
    expect(await explain(bench, "b", { partitionKey: "last" })).toMatchObject({
      state: "in-flight",
      subscriber: "bob",
    });
  });

  test("a lane that must be given up is draining until its deliveries settle, at most a lease", async () => {
    const bench = new Bench();
    await bench.putGroup("t", "g", { leaseDurationMs: 5000 });
    const keys = ["p0", "p1"];
    await bench.publish(
      "t",
      keys.flatMap((partitionKey) => numbered(2, partitionKey)),
    );
    await bench.take("t", "g", { subscriber: "ann", maxMessages: 2, visibilityTimeoutMs: 3_600_000 });
    await bench.take("t", "g", { subscriber: "bob" });
    const said = await Promise.all(keys.map((partitionKey) => explain(bench, "m1", { partitionKey })));
    const draining = said.filter((one) => kinds(one).includes("share"));
    expect(draining).toMatchObject([
      { state: "waiting", blockers: [{ kind: "share", subscriber: "ann", until: bench.nowMs + 5000 }] },
    ]);
    expect(said.filter(({ state }) => state === "deliverable")).toHaveLength(1);
  });
});

describe("when the log cannot be read", () => {
  function unreachable(): { bench: Bench; goAway: () => void } {
    const bench = new Bench();
    let away = false;
    const gate = <T>(act: () => Promise<T>): Promise<T> => (away ? Promise.reject(logUnreachable()) : act());
    bench.withLog((log) => ({
      scanTopic: (...args) => gate(() => log.scanTopic(...args)),
      findEntries: (...args) => gate(() => log.findEntries(...args)),
      listMessages: (...args) => gate(() => log.listMessages(...args)),
    }));
    return {
      bench,
      goAway: () => {
        away = true;
      },
    };
  }

  test("memory answers for what it has, by offset; an ID and what it has not is refused", async () => {
    const { bench, goAway } = unreachable();
    const offsets = await bench.publish("t", numbered(3));
    await bench.take("t", "g", { maxMessages: 1 });
    await explain(bench, "m2");
    const [first = 0, , third = 0] = offsets;
    goAway();
    expect(await explain(bench, "", byOffset(first))).toMatchObject({ state: "in-flight", id: null });
    const waiting = await explain(bench, "", byOffset(third));
    expect(waiting).toMatchObject({
      state: "waiting",
      id: null,
      dueAt: bench.nowMs,
      blockers: [{ kind: "log-unavailable", until: bench.nowMs + 100 }],
    });
    expect(waiting.summary).toMatch(/^The message log cannot be read; it is tried again at/);
    const input = { ...AT, partitionKey: "k", id: null, offset: null };
    expect(await bench.failure("explain", { ...input, id: "m2" })).toBe("store-unavailable");
    expect(await bench.failure("explain", { ...input, offset: third + 1 })).toBe("store-unavailable");
    const { lanes } = await bench.call("waitingLanes", { ...AT, limit: 20 });
    expect(lanes).toMatchObject([
      { unsettled: 3, explanation: { state: "waiting", blockers: [{ kind: "log-unavailable" }] } },
    ]);
  });

  test("beside the object: an explanation reads the log a bounded number of times, however deep it is", async () => {
    const asked: number[] = [];
    for (const depth of [50, 1500]) {
      const bench = new LateBench();
      await bench.putGroup("t", "g");
      for (let sent = 0; sent < depth; sent += 50) {
        await bench.publish("t", numbered(50, "k", `m${sent}-`));
        await bench.advance(1);
      }
      bench.asked.length = 0;
      const last = await explain(bench, `m${depth - 50}-49`);
      expect(kinds(last)).toEqual(
        depth === 50 ? ["no-subscriber", "in-flight-limit"] : ["no-subscriber", "in-flight-limit", "unread"],
      );
      asked.push(bench.asked.length);
    }
    expect(asked[1]).toBe(asked[0]);
    expect(asked[0]).toBeLessThanOrEqual(4);
  });
});

describe("lanes that wait", () => {
  const waiting = (bench: Bench, limit = 20) => bench.call("waitingLanes", { ...AT, limit });

  test("those of which something is not under way and nothing can go, each with the first such message", async () => {
    const bench = new Bench();
    for (const partitionKey of ["postponed", "failed", "busy", "free"]) {
      await bench.publish("t", numbered(2, partitionKey));
    }
    const taken = await bench.take("t", "g", { maxMessages: 8 });
    const of = (key: string) => taken.filter(({ partitionKey }) => partitionKey === key);
    await bench.settle("t", "g", of("postponed").slice(0, 1), { action: "postpone", delayMs: 60_000 });
    await bench.settle("t", "g", of("failed"), { action: "nack", delayMs: 60_000, reason: "no" });
    await bench.settle("t", "g", of("free"));
    await bench.publish("t", [{ id: "new", partitionKey: "free" }]);
    const { lanes, more } = await waiting(bench);
    expect(more).toBe(false);
    expect(lanes.map(({ partitionKey, unsettled }) => [partitionKey, unsettled])).toEqual([
      ["postponed", 2],
      ["failed", 2],
    ]);
    expect(lanes.map(({ explanation }) => [explanation.state, explanation.offset])).toEqual([
      ["postponed", of("postponed")[0]?.offset],
      ["backing-off", of("failed")[0]?.offset],
    ]);
    const offset = of("failed")[0]?.offset ?? 0;
    const whole = await explain(bench, "", { ...byOffset(offset), partitionKey: "failed" });
    expect(lanes[1]?.explanation).toEqual({ ...whole, id: null, publishedAt: null });
  });

  test("all of them when nobody asks, no more than asked for, and after a restart", async () => {
    const bench = new Bench();
    await bench.putGroup("t", "g");
    for (let lane = 0; lane < 5; lane += 1) await bench.publish("t", numbered(2, `p${lane}`));
    expect((await waiting(bench)).lanes).toHaveLength(5);
    const some = await waiting(bench, 2);
    expect(some.lanes).toHaveLength(2);
    expect(some.more).toBe(true);
    expect((await waiting(bench, 5)).more).toBe(false);
    bench.restart();
    const { lanes } = await waiting(bench);
    expect(lanes.map(({ partitionKey }) => partitionKey).sort()).toEqual(["p0", "p1", "p2", "p3", "p4"]);
    for (const { unsettled, explanation } of lanes) {
      expect(unsettled).toBe(2);
      expect(kinds(explanation)).toEqual(["no-subscriber"]);
    }
  });

  test("one whose next message cannot be read is shown without it", async () => {
    const bench = new LateBench();
    await bench.putGroup("t", "g");
    await bench.publish("t", numbered(2));
    expect((await bench.call("waitingLanes", { ...AT, limit: 20 })).lanes).toHaveLength(1);
    bench.restart();
    await bench.call("getGroup", AT);
    bench.logIsDown = true;
    const { lanes } = await bench.call("waitingLanes", { ...AT, limit: 20 });
    expect(lanes).toMatchObject([
      { unsettled: 0, explanation: { state: "waiting", offset: null, dueAt: null } },
    ]);
    expect(kinds(lanes[0]?.explanation as Explanation)).toEqual([
      "log-unavailable",
      "no-subscriber",
      "unread",
    ]);
  });

  test("of an unknown group it is not found", async () => {
    expect(await new Bench().failure("waitingLanes", { ...AT, limit: 1 })).toBe("not-found");
  });
});
