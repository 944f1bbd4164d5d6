import { describe, expect, test } from "vitest";
import type { LagView } from "../../../src/protocol/tenant-calls.ts";
import { Bench, numbered } from "./harness.ts";

const ref = { topic: "t", group: "g" };

async function lagOf(bench: Bench, partitionKey: string): Promise<LagView> {
  const { partitions } = await bench.call("lag", { ...ref, after: null, limit: 100 });
  return (
    partitions.find((view) => view.partitionKey === partitionKey) ??
    expect.fail(`no partition ${partitionKey}`)
  );
}

describe("lag", () => {
  test("acked is the highest stored offset with nothing unsettled at or below it", async () => {
    const bench = new Bench();
    const offsets = await bench.publish("t", [...numbered(4, "a", "a"), ...numbered(2, "b", "b")]);
    const [a0, a1, , a3, , b1] = offsets;
    await bench.putGroup("t", "g");
    expect(await lagOf(bench, "a")).toEqual({ partitionKey: "a", acked: 0, latest: a3, lag: 4 });
    const taken = await bench.take("t", "g");
    const named = (...names: string[]) => taken.filter(({ id }) => names.includes(id));
    await bench.settle("t", "g", named("a1", "a3", "b0", "b1"));
    expect(await lagOf(bench, "a")).toEqual({ partitionKey: "a", acked: 0, latest: a3, lag: 2 });
    expect(await lagOf(bench, "b")).toEqual({ partitionKey: "b", acked: b1, latest: b1, lag: 0 });
    await bench.settle("t", "g", named("a0"));
    expect(await lagOf(bench, "a")).toMatchObject({ acked: a1, lag: 1 });
    expect(a0).toBeLessThan(Number(a1));
    await bench.settle("t", "g", named("a2"));
    expect(await lagOf(bench, "a")).toMatchObject({ acked: a3, lag: 0 });
  });

  test("finds the acked one across hours without messages, and in a dense stretch", async () => {
    const bench = new Bench();
    await bench.putGroup("t", "g", { maxInFlightPerPartition: 1000 });
    const offsets: number[] = [];
    for (let batch = 0; batch < 3; batch += 1) {
      offsets.push(...(await bench.publish("t", numbered(100, "k", `${batch}-`))));
      await bench.advance(5 * 3600 * 1000);
    }
    await bench.publish("t", numbered(1, "k", "last"));
    await bench.settle("t", "g", (await bench.take("t", "g", { maxMessages: 100 })).slice(0, 77));
    expect(await lagOf(bench, "k")).toMatchObject({ acked: offsets[76], lag: 224 });
    const drained = await bench.take("t", "g", { maxMessages: 100 });
    await bench.settle("t", "g", drained);
    expect(await lagOf(bench, "k")).toMatchObject({ acked: offsets[76], lag: 124 });
  });

  test("the last acked one may be far before the first unsettled one", async () => {
    const bench = new Bench();
    const [first] = await bench.publish("t", numbered(1, "k", "first"));
    await bench.drain("t", "g");
    await bench.advance(30 * 24 * 3600 * 1000);
    await bench.publish("t", numbered(3, "k"));
    expect(await lagOf(bench, "k")).toMatchObject({ acked: first, lag: 3 });
  });

  test("a delayed message that has not arrived holds acked back", async () => {
    const bench = new Bench();
    const [m0] = await bench.publish("t", numbered(1));
    const [, d1] = await bench.publish("t", [{ id: "d", delayMs: 5000 }, ...numbered(1, "k", "after")]);
    await bench.drain("t", "g");
    expect(await lagOf(bench, "k")).toMatchObject({ acked: m0, latest: d1, lag: 1 });
    await bench.advance(5000);
    await bench.drain("t", "g");
    expect(await lagOf(bench, "k")).toMatchObject({ acked: d1, lag: 0 });
  });

  test("G6 groups are independent: another group's redriven message is no lag", async () => {
    const bench = new Bench();
    await bench.publish("t", numbered(1));
    await bench.settle("t", "other", await bench.take("t", "other"), { action: "reject" });
    await bench.call("redrive", { topic: "t", ids: null, group: null, limit: null });
    await bench.putGroup("t", "g");
    expect(await lagOf(bench, "k")).toMatchObject({ acked: 0, lag: 1 });
    await bench.drain("t", "g");
    const { latest, ...rest } = await lagOf(bench, "k");
    expect(rest).toEqual({ partitionKey: "k", acked: latest, lag: 0 });
  });

  test("pages in order of partition keys", async () => {
    const bench = new Bench();
    await bench.putGroup("t", "g");
    await bench.publish(
      "t",
      ["b", "a", "c"].map((partitionKey) => ({ partitionKey })),
    );
    const first = await bench.call("lag", { ...ref, after: null, limit: 2 });
    expect(first.partitions.map(({ partitionKey }) => partitionKey)).toEqual(["a", "b"]);
    expect(first.next).toBe("b");
    const second = await bench.call("lag", { ...ref, after: "b", limit: 2 });
    expect(second.partitions.map(({ partitionKey }) => partitionKey)).toEqual(["c"]);
    expect(second.next).toBeNull();
  });

  test("says the same after a restart", async () => {
    const bench = new Bench();
    for (let batch = 0; batch < 3; batch += 1) await bench.publish("t", numbered(100, "k", `${batch}-`));
    await bench.settle("t", "g", (await bench.take("t", "g")).slice(0, 3));
    const before = await lagOf(bench, "k");
    expect(before.lag).toBe(297);
    bench.restart();
    expect(await lagOf(bench, "k")).toEqual(before);
  });

  test("beyond 10,000 it is a lower bound that says so", async () => {
    const bench = new Bench();
    await bench.putGroup("t", "g");
    for (let batch = 0; batch < 101; batch += 1) await bench.publish("t", numbered(100, "k", `${batch}-`));
    expect(await lagOf(bench, "k")).toMatchObject({ lag: 10_000, atLeast: true });
  });

  test("an unknown group is not found", async () => {
    const bench = new Bench();
    await bench.publish("t", numbered(1));
    expect(await bench.failure("lag", { ...ref, after: null, limit: 10 })).toBe("not-found");
  });
});
