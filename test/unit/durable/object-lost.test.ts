import { describe, expect, test } from "vitest";
import { HORIZON_MS, LateBench } from "./late-bench.ts";

/** Long enough for a checkpoint of everything acked before. */
const SAVED_MS = 5000;

function named(count: number, prefix: string, partitionKey = "k"): { id: string; partitionKey: string }[] {
  return Array.from({ length: count }, (_, at) => ({ id: `${prefix}${at}`, partitionKey }));
}

async function setup(settings = {}): Promise<LateBench> {
  const bench = new LateBench();
  await bench.putGroup("t", "g", settings);
  return bench;
}

describe("the object is lost, the log is not", () => {
  test.each([0, 3 * HORIZON_MS])(
    "what was acked 5 s before does not come again (read %s ms after it was published)",
    async (ageMs) => {
      const bench = await setup();
      for (const key of ["a", "b", "c"]) await bench.publish("t", named(4, `${key}-`, key));
      await bench.advance(ageMs);
      expect(await bench.drain("t", "g")).toHaveLength(12);
      await bench.advance(SAVED_MS);
      await bench.publish("t", named(1, "new-", "a"));
      bench.loseObject();
      expect(await bench.drain("t", "g")).toEqual(["new-0"]);
      bench.loseObject();
      expect(await bench.drain("t", "g")).toEqual(["new-0"]);
    },
  );

  test("what was delivered and not acked comes again as a first attempt, with what was acked since the checkpoint", async () => {
    const bench = await setup();
    await bench.publish("t", named(5, "m"));
    const grants = await bench.take("t", "g");
    await bench.ack(
      "t",
      "g",
      [grants[0], grants[3]].flatMap((grant) => grant ?? []),
    );
    await bench.advance(SAVED_MS);
    await bench.ack("t", "g", grants.slice(1, 2));
    bench.loseObject();
    const again = await bench.take("t", "g");
    expect(await bench.idsOf("t", again)).toEqual(["m1", "m2", "m4"]);
    expect(again.map(({ attempt }) => attempt)).toEqual([1, 1, 1]);
    expect(await bench.ack("t", "g", grants.slice(2, 3))).toEqual(["stale"]);
  });

  test("a restart before the checkpoint does not lose what it was to save", async () => {
    const bench = await setup();
    await bench.publish("t", named(3, "m"));
    await bench.drain("t", "g");
    bench.restart();
    await bench.take("t", "g");
    await bench.advance(SAVED_MS);
    bench.loseObject();
    expect(await bench.drain("t", "g")).toEqual([]);
  });

  test("a failing checkpoint is repeated when the log is back", async () => {
    const bench = await setup();
    await bench.publish("t", named(3, "m"));
    const grants = await bench.take("t", "g");
    bench.logIsDown = true;
    expect(await bench.ack("t", "g", grants)).toEqual(["ok", "ok", "ok"]);
    await bench.advance(20_000);
    bench.logIsDown = false;
    await bench.advance(SAVED_MS);
    bench.loseObject();
    expect(await bench.drain("t", "g")).toEqual([]);
  });

  test("a group that acked nothing begins at the beginning", async () => {
    const bench = await setup();
    await bench.publish("t", named(3, "m"));
    await bench.take("t", "g");
    await bench.advance(SAVED_MS);
    bench.loseObject();
    expect(await bench.drain("t", "g")).toEqual(["m0", "m1", "m2"]);
  });

  test("a group that starts from latest does not get what was before it", async () => {
    const bench = new LateBench();
    await bench.publish("t", named(3, "old-"));
    await bench.advance(10);
    await bench.putGroup("t", "g", { startFrom: "latest" });
    await bench.publish("t", named(2, "new-"));
    bench.loseObject();
    expect(await bench.drain("t", "g")).toEqual(["new-0", "new-1"]);
  });

  test("a strict group keeps its order", async () => {
    const bench = await setup({ maxInFlightPerPartition: 1 });
    await bench.publish("t", named(3, "m"));
    const first = await bench.take("t", "g");
    await bench.ack("t", "g", first);
    const second = await bench.take("t", "g");
    expect(await bench.idsOf("t", second)).toEqual(["m1"]);
    await bench.advance(SAVED_MS);
    bench.loseObject();
    const again = await bench.take("t", "g");
    expect(await bench.idsOf("t", again)).toEqual(["m1"]);
    await bench.ack("t", "g", again);
    expect(await bench.idsOf("t", await bench.take("t", "g"))).toEqual(["m2"]);
  });

  test("delayed messages come when they are due, and those that were acked do not", async () => {
    const bench = await setup();
    await bench.append("t", [
      { id: "soon", delayMs: 1000 },
      { id: "late", delayMs: 60_000 },
      { id: "plain" },
    ]);
    await bench.hint("t", { results: [], stored: null, late: false });
    expect(await bench.drain("t", "g")).toEqual(["plain"]);
    await bench.advance(1500);
    expect(await bench.drain("t", "g")).toEqual(["soon"]);
    await bench.advance(SAVED_MS);
    bench.loseObject();
    expect(await bench.drain("t", "g")).toEqual([]);
    await bench.advance(60_000);
    expect(await bench.drain("t", "g")).toEqual(["late"]);
  });

  test("a reset stands, and its epoch goes on", async () => {
    const bench = await setup();
    await bench.publish("t", named(4, "m"));
    const ref = { topic: "t", group: "g", partitionKey: "k" };
    await bench.drain("t", "g");
    const grants = await bench.log.scanTopic("t", { afterOffset: 0, maxEntries: 10 });
    const second = grants.entries[1]?.offset ?? 0;
    await bench.call("resetOffset", { ...ref, offset: second });
    bench.loseObject();
    expect(await bench.drain("t", "g")).toEqual(["m2", "m3"]);
    await bench.advance(SAVED_MS);
    await bench.call("resetOffset", { ...ref, offset: 0 });
    bench.loseObject();
    expect(await bench.drain("t", "g")).toEqual(["m0", "m1", "m2", "m3"]);
  });

  test("settings and deleted groups are as before", async () => {
    const bench = await setup({ maxAttempts: 7 });
    await bench.putGroup("t", "gone");
    await bench.call("deleteGroup", { topic: "t", group: "gone", force: true });
    bench.loseObject();
    expect(await bench.call("getGroup", { topic: "t", group: "g" })).toMatchObject({ maxAttempts: 7 });
    const taken = await bench.engine.call("take", {
      topic: "t",
      group: "gone",
      subscriber: "s",
      maxMessages: 1,
      waitMs: 0,
      visibilityTimeoutMs: null,
      takeId: "x",
    });
    expect(taken).toMatchObject({ ok: false, error: { code: "not-found" } });
  });

  test("figures and collection know what was settled, although nobody receives", async () => {
    const bench = await setup();
    await bench.call("putTopic", { topic: "t", settings: { retentionMs: 1000 } });
    await bench.publish("t", named(4, "m"));
    const grants = await bench.take("t", "g");
    await bench.ack("t", "g", grants.slice(0, 3));
    await bench.advance(SAVED_MS + HORIZON_MS);
    bench.loseObject();
    const { groups } = await bench.call("getTopic", { topic: "t" });
    expect(groups).toMatchObject([{ group: "g", backlog: 1 }]);
    bench.loseObject();
    expect(await bench.call("collect", {})).toMatchObject({ deletedMessages: 3 });
    expect(await bench.drain("t", "g")).toEqual(["m3"]);
  });

  test("rows of partitions without messages go, and only those", async () => {
    const bench = await setup();
    await bench.call("putTopic", { topic: "t", settings: { retentionMs: 1000 } });
    await bench.publish("t", named(2, "a", "a"));
    await bench.drain("t", "g");
    await bench.advance(2 * HORIZON_MS);
    await bench.publish("t", named(2, "b", "b"));
    await bench.drain("t", "g");
    await bench.advance(SAVED_MS);
    expect(await bench.log.loadProgress("t", "g", ["a", "b"])).toHaveLength(2);
    await bench.call("collect", {});
    await bench.call("collect", {});
    const left = await bench.log.loadProgress("t", "g", ["a", "b"]);
    expect(left.map(({ partitionKey }) => partitionKey)).toEqual(["b"]);
  });
});
