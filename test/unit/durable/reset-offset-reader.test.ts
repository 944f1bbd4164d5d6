import { expect, test } from "vitest";
import { Bench, ids, numbered } from "./harness.ts";

const ref = { topic: "t", group: "g", partitionKey: "k" };

/** A group that has scanned a delayed message of `k` and one after it. */
async function withDelayed() {
  const bench = new Bench();
  await bench.putGroup("t", "g");
  const offsets = await bench.publish("t", [{ id: "delayed", delayMs: 5000 }, ...numbered(1)]);
  await bench.drain("t", "g");
  return { bench, offsets };
}

test("a delayed message at or below a reset counts as settled and never arrives, also after a restart", async () => {
  for (const restarts of [false, true]) {
    const { bench, offsets } = await withDelayed();
    expect(await bench.groupStats("t", "g")).toMatchObject({ backlog: 1 });
    await bench.call("resetOffset", { ...ref, offset: offsets[0] ?? 0 });
    expect(ids(await bench.drain("t", "g"))).toEqual(["m0"]);
    if (restarts) bench.restart();
    expect(await bench.groupStats("t", "g")).toMatchObject({ backlog: 0 });
    await bench.advance(6000);
    expect(await bench.drain("t", "g")).toEqual([]);
    expect(await bench.groupStats("t", "g")).toMatchObject({ backlog: 0 });
  }
});

test("a delayed message above a reset arrives when due, once", async () => {
  const { bench } = await withDelayed();
  await bench.call("resetOffset", { ...ref, offset: 0 });
  expect(ids(await bench.drain("t", "g"))).toEqual(["m0"]);
  await bench.advance(6000);
  expect(ids(await bench.drain("t", "g"))).toEqual(["delayed"]);
  expect(await bench.drain("t", "g")).toEqual([]);
});

test("a later reset back brings a delayed message back that an earlier one had settled", async () => {
  const { bench, offsets } = await withDelayed();
  await bench.call("resetOffset", { ...ref, offset: offsets[0] ?? 0 });
  await bench.call("resetOffset", { ...ref, offset: 0 });
  expect(ids(await bench.drain("t", "g"))).toEqual(["m0"]);
  await bench.advance(6000);
  expect(ids(await bench.drain("t", "g"))).toEqual(["delayed"]);
});

test("a reset of one partition says nothing of another's delayed messages", async () => {
  const { bench } = await withDelayed();
  await bench.publish("t", [{ id: "other", partitionKey: "other", delayMs: 1000 }]);
  await bench.drain("t", "g");
  await bench.call("resetOffset", { ...ref, offset: Number.MAX_SAFE_INTEGER });
  await bench.advance(6000);
  expect(ids(await bench.drain("t", "g"))).toEqual(["other"]);
});

test("0 is the beginning also for a group that began with the latest", async () => {
  const bench = new Bench();
  await bench.publish("t", [...numbered(3), ...numbered(1, "other", "o")]);
  await bench.putGroup("t", "g", { startFrom: "latest" });
  await bench.call("resetOffset", { ...ref, offset: 0 });
  expect(await bench.groupStats("t", "g")).toMatchObject({ backlog: 3 });
  expect(ids(await bench.drain("t", "g"))).toEqual(["m0", "m1", "m2"]);
});

test("a reset to an end that the log no longer holds costs no further reads", async () => {
  const bench = new Bench();
  await bench.putGroup("t", "g");
  await bench.publish("t", numbered(3));
  await bench.call("deleteMessage", { topic: "t", id: "m2", partitionKey: "k" });
  await bench.call("resetOffset", { ...ref, offset: Number.MAX_SAFE_INTEGER });
  let reads = 0;
  bench.withLog((log) => ({
    scanTopic: (topic, read) => {
      reads += 1;
      return log.scanTopic(topic, read);
    },
  }));
  expect(await bench.take("t", "g")).toEqual([]);
  expect(reads).toBeLessThanOrEqual(2);
  await bench.publish("t", numbered(1, "k", "next"));
  expect(ids(await bench.take("t", "g"))).toEqual(["next0"]);
});
