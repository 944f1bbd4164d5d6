import { describe, expect, test } from "vitest";
import { Bench, numbered } from "./harness.ts";
import { ALL, INTERVAL_MS, names, overview, publishMany, topicOf, watchLog } from "./observing.ts";

describe("figures", () => {
  test("a tenant without topics has none, and nothing is made or armed for it", async () => {
    const bench = new Bench();
    expect(await overview(bench)).toEqual({ topics: [], next: null });
    for (const table of ["queue_topics", "queue_groups", "queue_group_progress", "queue_offsets"]) {
      expect(bench.count(table)).toBe(0);
    }
    expect(bench.alarmAtMs).toBeNull();
  });

  test("an idle tenant stays idle: no alarm, no rows", async () => {
    const bench = new Bench();
    await bench.publish("t", numbered(2));
    await bench.putGroup("t", "g");
    const before = bench.sql.sizeBytes();
    bench.alarmAtMs = null;
    bench.restart();
    expect(await topicOf(bench)).toMatchObject({ messages: 2, groups: [{ group: "g", backlog: 2 }] });
    await bench.advance(INTERVAL_MS);
    await overview(bench);
    expect(bench.alarmAtMs).toBeNull();
    expect(bench.count("queue_group_progress")).toBe(0);
    expect(bench.sql.sizeBytes()).toBe(before);
  });

  test("are what getTopic says", async () => {
    const bench = new Bench();
    await bench.publish("t", [
      ...numbered(30, "a", "a"),
      ...numbered(2, "b", "b"),
      { id: "d", delayMs: 9000 },
    ]);
    await bench.advance(10);
    await bench.putGroup("t", "idle");
    await bench.putGroup("t", "drops", { deadLetters: false });
    const taken = await bench.take("t", "g", { maxMessages: 5 });
    await bench.settle("t", "g", taken.slice(0, 2));
    await bench.settle("t", "g", taken.slice(2, 3), { action: "nack", delayMs: 60_000 });
    await bench.settle("t", "drops", await bench.take("t", "drops"), { action: "reject" });
    const takenAt = bench.nowMs;
    const { groups, messages, oldestPublishedAt } = await bench.call("getTopic", { topic: "t" });
    expect(await topicOf(bench)).toEqual({
      topic: "t",
      messages,
      oldestPublishedAt,
      deadLetters: 0,
      takenAt,
      groups: groups.map((group) => ({ ...group, paused: false })),
    });
    expect(groups.map(({ group, backlog }) => `${group} ${backlog}`)).toEqual([
      "drops 23",
      "g 31",
      "idle 33",
    ]);
  });

  test("dead letters are counted at their topic, which is not listed by itself", async () => {
    const bench = new Bench();
    await bench.publish("t", numbered(3));
    await bench.settle("t", "g", await bench.take("t", "g"), { action: "reject" });
    await bench.advance(10);
    const reply = await overview(bench);
    expect(names(reply)).toEqual(["t"]);
    expect(reply.topics[0]).toMatchObject({ messages: 3, deadLetters: 3, groups: [{ backlog: 0 }] });
    expect(reply.topics[0]).not.toHaveProperty("deadLettersAtLeast");
  });

  test("counts are exact to 1,000 and then a lower bound that says so", async () => {
    const bench = new Bench();
    await bench.putGroup("t", "g");
    await bench.putGroup("t", "other", { maxInFlightPerPartition: 1000 });
    await publishMany(bench, "t", 1000);
    const exact = await topicOf(bench);
    expect(exact).toMatchObject({ messages: 1000, groups: [{ backlog: 1000 }, { backlog: 1000 }] });
    for (const counted of [exact, ...exact.groups]) expect(counted).not.toHaveProperty("atLeast");
    await bench.publish("t", numbered(1, "more"));
    await bench.settle("t", "other", await bench.take("t", "other", { maxMessages: 10 }));
    await bench.advance(INTERVAL_MS);
    const more = await topicOf(bench);
    expect(more).toMatchObject({ messages: 1000, atLeast: true });
    expect(more.groups).toMatchObject([
      { group: "g", backlog: 1000, atLeast: true },
      { group: "other", backlog: 991 },
    ]);
    expect(more.groups[1]).not.toHaveProperty("atLeast");
  });

  test("what a reset passed over does not count, and where that is too much to look at a bound is said", async () => {
    const bench = new Bench();
    await bench.putGroup("t", "g");
    const publish = async (count: number, from: number) => {
      const batch = Array.from({ length: 100 }, (_, at) => at);
      for (let next = from; next < from + count; next += 100) {
        await bench.publish(
          "t",
          batch.map((at) => ({ id: `m${next + at}` })),
        );
      }
    };
    const resetToEnd = async () => {
      const { offset } = await bench.log.tail("t");
      await bench.call("resetOffset", { topic: "t", group: "g", partitionKey: "k", offset });
    };
    await publish(1500, 0);
    await resetToEnd();
    await publish(100, 1500);
    const [exact] = (await topicOf(bench)).groups;
    expect(exact).toMatchObject({ backlog: 100 });
    expect(exact).not.toHaveProperty("atLeast");
    await publish(6500, 1600);
    await resetToEnd();
    await bench.advance(INTERVAL_MS);
    expect((await topicOf(bench)).groups).toMatchObject([{ backlog: 0, atLeast: true }]);
  });

  test("so are dead letters", async () => {
    const bench = new Bench();
    await publishMany(bench, "t", 1001);
    for (let round = 0; round < 12; round += 1) {
      const taken = await bench.take("t", "g", { maxMessages: 100 });
      await bench.settle("t", "g", taken, { action: "reject" });
      await bench.advance(1100);
    }
    expect(await topicOf(bench)).toMatchObject({ deadLetters: 1000, deadLettersAtLeast: true });
  });
});

describe("pages", () => {
  test("in order of names, from `after` on, `next` at the last one shown", async () => {
    const bench = new Bench();
    for (const topic of ["b", "a", "d", "c.1", "c"]) await bench.publish(topic, numbered(1));
    expect(await overview(bench, { after: null, limit: 2 })).toMatchObject({ next: "b" });
    const second = await overview(bench, { after: "b", limit: 2 });
    expect([names(second), second.next]).toEqual([["c", "c.1"], "c.1"]);
    const third = await overview(bench, { after: "c.1", limit: 2 });
    expect([names(third), third.next]).toEqual([["d"], null]);
    expect(await overview(bench, { after: "d", limit: 2 })).toEqual({ topics: [], next: null });
    expect(names(await overview(bench, { after: "bb", limit: 1 }))).toEqual(["c"]);
  });

  test("fewer topics come when counting takes long, and the others after them", async () => {
    const bench = new Bench();
    const topics = ["a", "b", "c", "d", "e", "f"];
    for (const topic of topics) {
      await publishMany(bench, topic, 1000);
      for (const group of ["g1", "g2", "g3", "g4", "g5"]) await bench.putGroup(topic, group);
    }
    const first = await overview(bench);
    expect(names(first).length).toBeGreaterThan(1);
    expect(names(first).length).toBeLessThan(topics.length);
    expect(first.next).toBe(names(first).at(-1));
    const seen = names(first);
    for (let after = first.next; after !== null; ) {
      const page = await overview(bench, { after, limit: 20 });
      seen.push(...names(page));
      after = page.next;
    }
    expect(seen).toEqual(topics);
  });

  test("when not even the first one is counted in time it is to be asked again", async () => {
    const bench = new Bench();
    await bench.publish("t", numbered(1));
    let open = () => {};
    const gate = new Promise<void>((resolve) => {
      open = resolve;
    });
    watchLog(bench, (method) => (method === "countEntries" ? gate : Promise.resolve()));
    const startMs = bench.nowMs;
    const asked = bench.failure("overview", ALL);
    await bench.advance(10_000);
    expect(await asked).toBe("store-unavailable");
    open();
    expect(await topicOf(bench)).toMatchObject({ messages: 1, takenAt: startMs });
  });
});
