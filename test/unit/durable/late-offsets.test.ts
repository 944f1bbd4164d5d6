import { describe, expect, test } from "vitest";
import { HORIZON_MS, LateBench } from "./late-bench.ts";

/** A publish whose offset is given now and that commits after `openMs`, while others go on. */
function publishLate(bench: LateBench, id: string, openMs: number, more: { delayMs?: number } = {}) {
  bench.openMs = openMs;
  const appended = bench.append("t", [{ id, ...more }]);
  bench.openMs = 0;
  return appended;
}

async function withGroup(settings = {}): Promise<LateBench> {
  const bench = new LateBench();
  await bench.putGroup("t", "g", settings);
  await bench.publish("t", [{ id: "first" }]);
  expect(await bench.drain("t", "g")).toEqual(["first"]);
  return bench;
}

describe("G9: an entry that appears below what was read", () => {
  test("is delivered by the next read after its hint, although larger offsets were acked", async () => {
    const bench = await withGroup();
    const late = publishLate(bench, "late", 3000);
    await bench.advance(100);
    await bench.publish("t", [{ id: "after" }]);
    expect(await bench.drain("t", "g")).toEqual(["after"]);
    await bench.advance(3000);
    await bench.hint("t", await late);
    expect(await bench.drain("t", "g")).toEqual(["late"]);
  });

  test("wakes a waiting receive when its hint comes", async () => {
    const bench = await withGroup();
    const late = publishLate(bench, "late", 3000);
    await bench.advance(100);
    await bench.publish("t", [{ id: "after" }]);
    expect(await bench.drain("t", "g")).toEqual(["after"]);
    const waiting = bench.take("t", "g", { waitMs: 20_000 });
    await bench.advance(3000);
    await bench.hint("t", await late);
    await bench.advance(10);
    expect(await bench.idsOf("t", await waiting)).toEqual(["late"]);
  });

  test("without a hint it is delivered once the horizon has passed", async () => {
    const bench = await withGroup();
    const late = publishLate(bench, "late", 3000);
    await bench.advance(100);
    await bench.publish("t", [{ id: "after" }]);
    await bench.drain("t", "g");
    await bench.advance(3000);
    await late;
    expect(await bench.drain("t", "g")).toEqual([]);
    await bench.advance(HORIZON_MS);
    expect(await bench.drain("t", "g")).toEqual(["late"]);
  });

  test("a usual commit needs neither hint nor horizon: each read begins a little before the last one", async () => {
    const bench = await withGroup();
    const late = publishLate(bench, "late", 15);
    await bench.advance(5);
    await bench.append("t", [{ id: "after" }]);
    expect(await bench.drain("t", "g")).toEqual(["after"]);
    await bench.advance(15);
    await late;
    expect(await bench.drain("t", "g")).toEqual(["late"]);
  });

  test.each([false, true])(
    "is known after a restart, and comes once (restart between: %s)",
    async (between) => {
      const bench = await withGroup();
      const late = publishLate(bench, "late", 2000);
      await bench.advance(50);
      await bench.publish("t", [{ id: "a1" }, { id: "a2" }]);
      expect(await bench.drain("t", "g")).toEqual(["a1", "a2"]);
      if (between) bench.restart();
      await bench.advance(2000);
      await bench.hint("t", await late);
      expect(await bench.drain("t", "g")).toEqual(["late"]);
      bench.restart();
      await bench.hint("t", await late);
      await bench.advance(3 * HORIZON_MS);
      expect(await bench.drain("t", "g")).toEqual([]);
    },
  );

  test("G3 order: a hint that comes while a read is under way is read for before anything is granted", async () => {
    const bench = await withGroup();
    const late = publishLate(bench, "a", 1000);
    await bench.advance(100);
    await bench.publish("t", [{ id: "other", partitionKey: "q" }]);
    await bench.drain("t", "g");
    await bench.advance(900);
    const outcome = await late;
    expect(outcome.late).toBe(true);
    // The hint and then the next message of the partition come after the read began.
    const taken = bench.take("t", "g");
    const hinted = bench.hint("t", outcome);
    await bench.append("t", [{ id: "b" }]);
    const grants = await taken;
    await hinted;
    const first = await bench.idsOf("t", grants);
    expect(first.length > 0 ? first[0] : "a").toBe("a");
    expect([...first, ...(await bench.drain("t", "g"))]).toEqual(["a", "b"]);
  });

  test("delayed and late: it comes when it is due, once", async () => {
    const bench = await withGroup();
    const late = publishLate(bench, "late", 2000, { delayMs: 1000 });
    await bench.advance(100);
    await bench.publish("t", [{ id: "after" }]);
    expect(await bench.drain("t", "g")).toEqual(["after"]);
    await bench.advance(2000);
    await bench.hint("t", await late);
    expect(await bench.drain("t", "g")).toEqual(["late"]);
    await bench.advance(3 * HORIZON_MS);
    expect(await bench.drain("t", "g")).toEqual([]);
  });

  test("a reset that passed it puts it aside", async () => {
    const bench = await withGroup();
    const late = publishLate(bench, "late", 2000);
    await bench.advance(100);
    const after = await bench.publish("t", [{ id: "after" }]);
    await bench.call("resetOffset", { topic: "t", group: "g", partitionKey: "k", offset: after });
    await bench.advance(2000);
    await bench.hint("t", await late);
    expect(await bench.drain("t", "g")).toEqual([]);
    await bench.advance(3 * HORIZON_MS);
    expect(await bench.drain("t", "g")).toEqual([]);
  });

  test("G10 collection does not take it, and waits with what is younger than the horizon", async () => {
    const bench = await withGroup();
    await bench.call("putTopic", { topic: "t", settings: { retentionMs: 1000 } });
    const late = publishLate(bench, "late", 3000);
    await bench.advance(100);
    await bench.publish("t", [{ id: "after" }]);
    await bench.drain("t", "g");
    await bench.advance(3000);
    await late;
    await bench.call("collect", {});
    expect(
      (
        await bench.call("listMessages", { topic: "t", partitionKey: null, after: 0, limit: 100 })
      ).messages.map(({ id }) => id),
    ).toContain("late");
    await bench.advance(HORIZON_MS);
    await bench.call("collect", {});
    expect(await bench.drain("t", "g")).toEqual(["late"]);
    await bench.advance(HORIZON_MS + 1000);
    await bench.call("collect", {});
    const { messages } = await bench.call("listMessages", {
      topic: "t",
      partitionKey: null,
      after: 0,
      limit: 100,
    });
    expect(messages).toEqual([]);
  });

  test("G10 what every group settled goes without being read, and what one has not stays", async () => {
    const bench = await withGroup();
    await bench.call("putTopic", { topic: "t", settings: { retentionMs: 1000 } });
    await bench.publish("t", [{ id: "stuck", partitionKey: "p" }]);
    const [stuck] = await bench.take("t", "g");
    await bench.advance(10);
    await bench.publish("t", [{ id: "later" }]);
    expect(await bench.drain("t", "g")).toEqual(["later"]);
    await bench.advance(HORIZON_MS + 1000);
    bench.asked.length = 0;
    const { deletedMessages } = await bench.call("collect", {});
    // "first" lies before the stuck one, "later" after it.
    expect(deletedMessages).toBe(2);
    expect(bench.asked).toContain("purge");
    await bench.ack("t", "g", stuck ? [stuck] : []);
    await bench.call("collect", {});
    expect(bench.asked.filter((name) => name === "deleteRanges")).toHaveLength(1);
    const { messages } = await bench.call("listMessages", {
      topic: "t",
      partitionKey: null,
      after: 0,
      limit: 100,
    });
    expect(messages).toEqual([]);
  });

  test("a clock of the database that steps back 2 s loses nothing", async () => {
    const bench = await withGroup();
    await bench.publish("t", [{ id: "before" }]);
    expect(await bench.drain("t", "g")).toEqual(["before"]);
    bench.databaseAheadMs = -2000;
    await bench.publish("t", [{ id: "stepped" }]);
    expect(await bench.drain("t", "g")).toEqual(["stepped"]);
    await bench.append("t", [{ id: "unhinted" }]);
    await bench.advance(2 * HORIZON_MS);
    expect(await bench.drain("t", "g")).toEqual(["unhinted"]);
  });
});

describe("the log's clock", () => {
  test.each([-3000, 4000])("delays count by the database's clock, %s ms ahead", async (aheadMs) => {
    const bench = new LateBench();
    bench.databaseAheadMs = aheadMs;
    await bench.putGroup("t", "g");
    await bench.publish("t", [{ id: "delayed", delayMs: 1000 }]);
    const waiting = bench.take("t", "g", { waitMs: 20_000 });
    await bench.advance(900);
    let ended = false;
    waiting.then(
      () => {
        ended = true;
      },
      () => {},
    );
    await bench.advance(1);
    expect(ended).toBe(false);
    await bench.advance(300);
    expect(await bench.idsOf("t", await waiting)).toEqual(["delayed"]);
  });
});

describe("reads of the log", () => {
  test("a waiting receive whose hint was lost is served by the sweep", async () => {
    const bench = await withGroup();
    const waiting = bench.take("t", "g", { waitMs: 20_000 });
    await bench.advance(100);
    await bench.append("t", [{ id: "unhinted" }]);
    await bench.advance(5100);
    expect(await bench.idsOf("t", await waiting)).toEqual(["unhinted"]);
  });

  test("a waiting receive that could not read when it came reads as soon as the log is back", async () => {
    const bench = await withGroup();
    await bench.advance(3000);
    expect(await bench.take("t", "g")).toEqual([]);
    // What was read is older than the horizon now: the read begins with a second look at it, and fails there.
    await bench.advance(2500);
    bench.logIsDown = true;
    const waiting = bench.take("t", "g", { waitMs: 20_000 });
    await bench.advance(50);
    bench.logIsDown = false;
    await bench.append("t", [{ id: "unhinted" }]);
    await bench.advance(1000);
    let ids: string[] = [];
    waiting.then(
      async (grants) => {
        ids = await bench.idsOf("t", grants);
      },
      () => {},
    );
    await bench.advance(1);
    expect(ids).toEqual(["unhinted"]);
    await waiting;
  });

  test("a waiting receive and a publish with its hint cost one read of the tail", async () => {
    const bench = await withGroup();
    const waiting = bench.take("t", "g", { waitMs: 20_000 });
    bench.asked.length = 0;
    await bench.publish("t", [{ id: "m" }]);
    await bench.advance(10);
    expect(await bench.idsOf("t", await waiting)).toEqual(["m"]);
    expect(bench.asked.filter((name) => name === "scanTopic")).toHaveLength(1);
    expect(bench.asked).not.toContain("scanDue");
  });

  test("dead letters and redriven messages wake who waits, without a sweep", async () => {
    const bench = await withGroup({ maxAttempts: 1 });
    await bench.putGroup("t_dlq", "undertaker");
    const dead = bench.take("t_dlq", "undertaker", { waitMs: 20_000 });
    await bench.advance(100);
    await bench.publish("t", [{ id: "bad" }]);
    const [bad] = await bench.take("t", "g");
    const settlements = bad ? [{ receipt: bad.receipt, action: "reject" as const }] : [];
    await bench.call("settle", { topic: "t", group: "g", subscriber: null, settlements });
    await bench.advance(100);
    expect(await bench.idsOf("t_dlq", await dead)).toEqual(["bad"]);
    const again = bench.take("t", "g", { waitMs: 20_000 });
    await bench.advance(100);
    const redrive = { topic: "t", ids: null, group: null, limit: null };
    expect(await bench.call("redrive", redrive)).toEqual({ redriven: 1 });
    await bench.advance(100);
    expect(await bench.idsOf("t", await again)).toEqual(["bad"]);
  });

  test("known offsets move to chunks of their own, which go with the horizon", async () => {
    const bench = await withGroup();
    for (let round = 0; round < 1500; round += 1) {
      await bench.append("t", [{ id: `n${round}`, partitionKey: `p${round % 7}` }]);
      await bench.advance(1);
    }
    await bench.hint("t", { results: [], stored: null, late: false });
    expect(await bench.drain("t", "g")).toHaveLength(1500);
    expect(bench.count("queue_known_offsets")).toBeGreaterThan(0);
    bench.restart();
    expect(await bench.drain("t", "g")).toEqual([]);
    await bench.advance(2 * HORIZON_MS);
    expect(await bench.drain("t", "g")).toEqual([]);
    expect(bench.count("queue_known_offsets")).toBe(0);
  });
});
