import { describe, expect, test } from "vitest";
import { fail } from "../../../src/core/failure.ts";
import { MAX_OVERVIEW_AGE_MS } from "../../../src/protocol/overview.ts";
import type { OverviewReply } from "../../../src/protocol/tenant-calls.ts";
import { Bench, numbered, settled } from "./harness.ts";
import { LateBench } from "./late-bench.ts";
import { ALL, INTERVAL_MS, names, overview, publishMany, topicOf, watchLog } from "./observing.ts";

describe("snapshots", () => {
  test("callers that meet share one, and within the interval nothing is read", async () => {
    const bench = new Bench();
    await bench.publish("t", numbered(3));
    await bench.putGroup("t", "g");
    const asked = watchLog(bench);
    const both = [bench.call("overview", ALL), bench.call("overview", ALL)];
    await bench.advance(0);
    const [one, two] = await Promise.all(both);
    expect(one).toEqual(two);
    expect(asked.filter((method) => method === "countEntries")).toHaveLength(3);
    asked.length = 0;
    await bench.advance(INTERVAL_MS - 1);
    await bench.publish("t", numbered(1, "new"));
    asked.length = 0;
    for (let time = 0; time < 50; time += 1) expect(await bench.call("overview", ALL)).toEqual(one);
    expect(asked).toEqual([]);
    await bench.advance(1);
    expect(await topicOf(bench)).toMatchObject({ messages: 4, takenAt: bench.nowMs - 1 });
  });

  test("one topic is counted at a time, with a pause that grows with what the last one cost", async () => {
    const bench = new Bench();
    for (const [topic, count] of [
      ["a", 1000],
      ["b", 10],
      ["c", 10],
    ] as const) {
      await publishMany(bench, topic, count);
      await bench.putGroup(topic, "g");
    }
    const counting = new Set<string>();
    const startedAtMs: number[] = [];
    let atOnce = 0;
    watchLog(bench, async (method) => {
      if (method === "scanDue") return;
      counting.add(method);
      atOnce = Math.max(atOnce, counting.size);
      await settled();
      counting.delete(method);
    });
    const { topics } = await overview(bench);
    for (const { takenAt } of topics) startedAtMs.push(takenAt);
    const [a = 0, b = 0, c = 0] = startedAtMs;
    expect(atOnce).toBe(1);
    // Some 2,000 rows against some 20, at 10 a millisecond.
    expect(b - a).toBeGreaterThanOrEqual(200);
    expect(b - a).toBeLessThan(260);
    expect(c - b).toBeGreaterThan(1);
    expect(c - b).toBeLessThan(20);
  });

  test("calls that wait for the object come in between groups", async () => {
    const bench = new Bench();
    await bench.publish("t", numbered(1));
    for (let at = 0; at < 10; at += 1) await bench.putGroup("t", `g${at}`);
    const asked = watchLog(bench);
    const counting = bench.call("overview", ALL);
    const counts: number[] = [];
    for (let turn = 0; turn < 20; turn += 1) {
      await new Promise((resolve) => setImmediate(resolve));
      counts.push(asked.filter((method) => method === "countEntries").length);
    }
    await counting;
    const steps = counts.map((count, turn) => count - (counts[turn - 1] ?? 0));
    expect(counts.at(-1)).toBe(2 + 10);
    // Messages and dead letters, then one group after the other.
    expect(Math.max(...steps)).toBeLessThanOrEqual(3);
  });

  test("pages held open cost a bounded number of rows in a second, however many and often they ask", async () => {
    const bench = new Bench();
    for (const topic of ["a", "b", "c", "d"]) {
      await publishMany(bench, topic, 1000);
      for (const group of ["g1", "g2", "g3"]) await bench.putGroup(topic, group);
    }
    const asked = watchLog(bench);
    await overview(bench);
    asked.length = 0;
    const calls: Promise<unknown>[] = [];
    for (let second = 0; second < 20; second += 1) {
      for (let page = 0; page < 10; page += 1) calls.push(bench.call("overview", ALL));
      await bench.advance(1000);
    }
    await Promise.all(calls);
    // Each such count looks at 1,000 rows, and five of them make a snapshot.
    const rows = 1000 * asked.filter((method) => method === "countEntries").length;
    expect(rows).toBeGreaterThan(50_000);
    expect(rows).toBeLessThan(20 * 10_000 * 1.2);
  });

  test("while a topic is counted anew the last snapshot is shown, with its age; then it is too old", async () => {
    const bench = new Bench();
    await bench.publish("t", numbered(1));
    let open = () => {};
    let gate: Promise<void> = Promise.resolve();
    watchLog(bench, () => gate);
    const takenAt = bench.nowMs;
    await overview(bench);
    gate = new Promise<void>((resolve) => {
      open = resolve;
    });
    await bench.advance(MAX_OVERVIEW_AGE_MS - 1000);
    const againAt = bench.nowMs;
    expect(await topicOf(bench)).toMatchObject({ messages: 1, takenAt });
    await bench.advance(1000);
    const asked = bench.failure("overview", ALL);
    await bench.advance(20_000);
    expect(await asked).toBe("store-unavailable");
    open();
    gate = Promise.resolve();
    await settled();
    expect(await topicOf(bench)).toMatchObject({ messages: 1, takenAt: againAt });
  });

  test("those that a call waits for come before those that are shown meanwhile", async () => {
    const bench = new Bench();
    const topics = ["a", "b", "c", "d"];
    for (const topic of topics) await publishMany(bench, topic, 1000);
    await bench.publish("new", numbered(1));
    expect(names(await overview(bench, { after: null, limit: 4 }))).toEqual(topics);
    await bench.advance(INTERVAL_MS);
    await overview(bench, { after: null, limit: 4 });
    const [news] = (await overview(bench, { after: "d", limit: 1 })).topics;
    await bench.advance(500);
    const later = (await overview(bench, { after: null, limit: 4 })).topics;
    expect(news?.takenAt).toBeLessThan(later[3]?.takenAt ?? 0);
  });

  test("a call answers the topics before the first of which there is nothing to show", async () => {
    const bench = new Bench();
    for (const topic of ["a", "b", "c"]) await bench.publish(topic, numbered(1));
    const gates = new Map<string, Promise<void>>();
    bench.withLog((log) => ({
      countEntries: async (topic, read) => {
        await gates.get(topic);
        return log.countEntries(topic, read);
      },
    }));
    let open = () => {};
    gates.set(
      "b",
      new Promise<void>((resolve) => {
        open = resolve;
      }),
    );
    await overview(bench, { after: "b", limit: 1 });
    const reply = await overview(bench);
    expect([names(reply), reply.next]).toEqual([["a"], "a"]);
    // The first one is waited for a little longer.
    const waiting = bench.call("overview", { after: "a", limit: 20 });
    await bench.advance(5000);
    open();
    await bench.advance(100);
    expect(names(await waiting)).toEqual(["b", "c"]);
  });

  test("a new topic appears, a new group with the next snapshot", async () => {
    const bench = new Bench();
    await bench.publish("t", numbered(1));
    await overview(bench);
    await bench.publish("s", numbered(2));
    await bench.putGroup("t", "g");
    const reply = await overview(bench);
    expect(reply.topics).toMatchObject([
      { topic: "s", messages: 2 },
      { topic: "t", groups: [] },
    ]);
    await bench.advance(INTERVAL_MS);
    expect(await topicOf(bench)).toMatchObject({ groups: [{ group: "g", backlog: 1 }] });
  });

  test("a deleted group disappears at once, and one made anew does not bring its figures back", async () => {
    const bench = new Bench();
    await bench.publish("t", numbered(3));
    await bench.take("t", "g", { maxMessages: 1 });
    await bench.putGroup("t", "h");
    expect((await topicOf(bench)).groups).toHaveLength(2);
    await bench.call("deleteGroup", { topic: "t", group: "g", force: true });
    expect((await topicOf(bench)).groups).toMatchObject([{ group: "h" }]);
    await bench.putGroup("t", "g", { startFrom: "latest" });
    expect((await topicOf(bench)).groups).toMatchObject([{ group: "h" }]);
    await bench.advance(INTERVAL_MS);
    expect((await topicOf(bench)).groups).toMatchObject([
      { group: "g", backlog: 0, inFlight: 0 },
      { group: "h" },
    ]);
  });

  test("a group that is deleted while it is counted is left out", async () => {
    const bench = new Bench();
    await bench.publish("t", numbered(3));
    await bench.putGroup("t", "g");
    await bench.putGroup("t", "h");
    let deleting: Promise<unknown> | null = null;
    watchLog(bench, async (method) => {
      if (method !== "scanDue" || deleting) return;
      deleting = bench.call("deleteGroup", { topic: "t", group: "g", force: true });
      await deleting;
    });
    expect((await topicOf(bench)).groups).toMatchObject([{ group: "h", backlog: 3 }]);
  });

  test("paused, expired and dropped are as of now", async () => {
    const bench = new Bench();
    await bench.putGroup("t", "g", { deadLetters: false });
    await bench.publish("t", numbered(2));
    const taken = await bench.take("t", "g");
    expect((await topicOf(bench)).groups).toMatchObject([{ paused: false, dropped: 0, inFlight: 2 }]);
    await bench.settle("t", "g", taken, { action: "reject" });
    await bench.putGroup("t", "g", { paused: true });
    expect((await topicOf(bench)).groups).toMatchObject([{ paused: true, dropped: 2, inFlight: 2 }]);
  });

  test("a clock that stepped back makes them worthless", async () => {
    const bench = new Bench();
    await bench.publish("t", numbered(1));
    await overview(bench);
    await bench.publish("t", numbered(1, "new"));
    await bench.advance(INTERVAL_MS / 2);
    bench.nowMs -= 60_000;
    expect(await topicOf(bench)).toMatchObject({ messages: 2 });
  });

  test("they are given up beyond a number: memory is bounded", async () => {
    const bench = new Bench();
    for (let at = 0; at < 201; at += 1) await bench.publish(`t${String(at).padStart(3, "0")}`, numbered(1));
    const asked = watchLog(bench);
    for (let after: string | null = null, pages = 0; pages < 20; pages += 1) {
      const page: OverviewReply = await overview(bench, { after, limit: 20 });
      after = page.next;
      if (after === null) break;
    }
    expect(asked.filter((method) => method === "countEntries")).toHaveLength(2 * 201);
    asked.length = 0;
    await overview(bench, { after: "t000", limit: 1 });
    expect(asked).toEqual([]);
    await overview(bench, { after: null, limit: 1 });
    expect(asked).toContain("countEntries");
  });
});

describe("when the log fails", () => {
  test("the callers hear it, nothing of it is kept, and the next one is answered", async () => {
    const bench = new Bench();
    await bench.publish("t", numbered(2));
    await bench.putGroup("t", "g");
    let fails = true;
    const asked = watchLog(bench, async (method) => {
      if (fails && method === "scanDue") fail("store-unavailable", "the log is gone");
    });
    const both = [bench.failure("overview", ALL), bench.failure("overview", ALL)];
    expect(await Promise.all(both)).toEqual(["store-unavailable", "store-unavailable"]);
    fails = false;
    const counts = asked.filter((method) => method === "countEntries").length;
    const again = bench.call("overview", ALL);
    await settled();
    // Not at once: while it fails, the log is asked once a second.
    expect(asked.filter((method) => method === "countEntries")).toHaveLength(counts);
    await bench.advance(1000);
    expect((await again).topics).toMatchObject([{ messages: 2, groups: [{ backlog: 2 }] }]);
    expect(bench.reports).toEqual([]);
  });

  test("a figure that is there already is not replaced by the failure", async () => {
    const bench = new Bench();
    await bench.publish("t", numbered(2));
    let fails = false;
    watchLog(bench, async () => {
      if (fails) fail("store-unavailable", "the log is gone");
    });
    const takenAt = bench.nowMs;
    await overview(bench);
    await bench.advance(INTERVAL_MS);
    fails = true;
    expect(await bench.failure("overview", ALL)).toBe("store-unavailable");
    // The next try waits its second; meanwhile the page has something to show.
    expect(await topicOf(bench)).toMatchObject({ messages: 2, takenAt });
  });

  test("a count that nobody waits for any more is reported, and the rest is given up", async () => {
    const bench = new Bench();
    for (const topic of ["a", "b", "c"]) await bench.publish(topic, numbered(1));
    let refuse = (): void => expect.fail("nothing was asked");
    let held = false;
    const asked = watchLog(bench, async () => {
      if (!held) return;
      await new Promise<void>((_, reject) => {
        refuse = () => reject(new Error("gone"));
      });
    });
    await overview(bench);
    await bench.advance(INTERVAL_MS);
    held = true;
    asked.length = 0;
    expect(names(await overview(bench))).toEqual(["a", "b", "c"]);
    expect(asked).toHaveLength(1);
    refuse();
    await bench.advance(10_000);
    expect(bench.reports).toEqual(["snapshots: Error: gone"]);
    expect(asked).toHaveLength(1);
    held = false;
    expect((await overview(bench)).topics).toHaveLength(3);
  });
});

describe("beside a log outside the object", () => {
  test("every count is a statement: they are bounded in a second, and so is the list of topics", async () => {
    const bench = new LateBench();
    const topics = Array.from({ length: 20 }, (_, at) => `t${at}`);
    for (const topic of topics) {
      await bench.append(topic, numbered(3));
      for (const group of ["g1", "g2"]) await bench.putGroup(topic, group);
    }
    expect((await overview(bench)).topics[0]).toMatchObject({ messages: 3, groups: [{ backlog: 3 }, {}] });
    await bench.advance(10_000);
    bench.asked.length = 0;
    const calls: Promise<unknown>[] = [];
    for (let second = 0; second < 12; second += 1) {
      for (let page = 0; page < 10; page += 1) calls.push(bench.call("overview", ALL));
      await bench.advance(1000);
    }
    await Promise.all(calls);
    expect(bench.asked.filter((method) => method === "loadTopics").length).toBeLessThanOrEqual(4);
    expect(bench.asked.length).toBeGreaterThan(12 * 40);
    expect(bench.asked.length).toBeLessThan(12 * 55);
  });

  test("a topic that a publish made appears within the interval", async () => {
    const bench = new LateBench();
    await bench.append("a", numbered(1));
    expect(names(await overview(bench))).toEqual(["a"]);
    await bench.append("b", numbered(1));
    expect(names(await overview(bench))).toEqual(["a"]);
    await bench.advance(INTERVAL_MS);
    expect(names(await overview(bench))).toEqual(["a", "b"]);
  });

  test("after the loss of the object what was settled before it is not counted", async () => {
    const bench = new LateBench();
    await bench.publish("t", numbered(30));
    const taken = await bench.take("t", "g", { maxMessages: 10 });
    await bench.ack("t", "g", taken);
    await bench.advance(10_000);
    bench.loseObject();
    const asked = bench.call("overview", ALL);
    await bench.advance(300);
    expect((await asked).topics).toMatchObject([{ messages: 30, groups: [{ group: "g", backlog: 20 }] }]);
  });

  test("a log that cannot be reached is told, and not that there are no topics", async () => {
    const bench = new LateBench();
    await bench.append("a", numbered(1));
    bench.logIsDown = true;
    expect(await bench.engine.call("overview", ALL)).toMatchObject({
      ok: false,
      error: { code: "store-unavailable" },
    });
    bench.logIsDown = false;
    expect((await bench.call("overview", ALL)).topics).toHaveLength(1);
  });
});
