import { describe, expect, test } from "vitest";
import { Bench, ids, numbered, settled } from "./harness.ts";

const ref = { topic: "t", group: "g" };

async function setup() {
  const bench = new Bench();
  await bench.publish("t", [...numbered(2, "a"), ...numbered(2, "b", "n")]);
  const taken = await bench.take("t", "g", { subscriber: "holder" });
  return { bench, taken };
}

describe("leases", () => {
  test("shows holder, epoch and times, in order of partition keys", async () => {
    const { bench, taken } = await setup();
    const acquiredAt = bench.nowMs;
    await bench.advance(1000);
    await bench.call("heartbeat", { ...ref, subscriber: "holder" });
    const { leases } = await bench.call("leases", { ...ref, staleForMs: null });
    const epochOf = (key: string) => taken.find(({ partitionKey }) => partitionKey === key)?.leaseEpoch;
    const times = { acquiredAt, renewedAt: acquiredAt + 1000, expiresAt: acquiredAt + 31_000 };
    expect(leases).toEqual([
      { partitionKey: "a", subscriber: "holder", epoch: epochOf("a"), ...times },
      { partitionKey: "b", subscriber: "holder", epoch: epochOf("b"), ...times },
    ]);
  });

  test("staleForMs keeps those not renewed for at least so long", async () => {
    const { bench } = await setup();
    await bench.advance(5000);
    const staleFor = async (staleForMs: number) =>
      (await bench.call("leases", { ...ref, staleForMs })).leases.length;
    expect(await staleFor(5000)).toBe(2);
    expect(await staleFor(5001)).toBe(0);
    expect(await staleFor(0)).toBe(2);
  });

  test("G4 one owner: a dead subscriber's leases are not shown", async () => {
    const { bench } = await setup();
    bench.nowMs += 30_000;
    expect(await bench.call("leases", { ...ref, staleForMs: null })).toEqual({ leases: [] });
  });

  test("survive the loss of the object", async () => {
    const { bench } = await setup();
    const before = await bench.call("leases", { ...ref, staleForMs: null });
    bench.restart();
    expect(await bench.call("leases", { ...ref, staleForMs: null })).toEqual(before);
  });

  test("an unknown group is not found", async () => {
    const { bench } = await setup();
    expect(await bench.failure("leases", { topic: "t", group: "x", staleForMs: null })).toBe("not-found");
  });
});

describe("releaseLease", () => {
  test("frees the partition; its deliveries stay as they are", async () => {
    const { bench, taken } = await setup();
    await bench.call("releaseLease", { ...ref, partitionKey: "a" });
    const { leases } = await bench.call("leases", { ...ref, staleForMs: null });
    expect(leases.map(({ partitionKey }) => partitionKey)).toEqual(["b"]);
    expect(await bench.settle("t", "g", taken)).toEqual(["ok", "ok", "ok", "ok"]);
  });

  test("wakes who waits for the partition", async () => {
    const bench = new Bench();
    await bench.putGroup("t", "g", { visibilityTimeoutMs: 60_000 });
    await bench.publish("t", numbered(2));
    await bench.take("t", "g", { subscriber: "a", maxMessages: 1 });
    const waiting = bench.take("t", "g", { subscriber: "b", waitMs: 20_000 });
    await settled();
    await bench.call("releaseLease", { ...ref, partitionKey: "k" });
    expect(ids(await waiting)).toEqual(["m1"]);
  });

  test("what nobody holds is not found", async () => {
    const { bench } = await setup();
    expect(await bench.failure("releaseLease", { ...ref, partitionKey: "c" })).toBe("not-found");
    await bench.call("releaseLease", { ...ref, partitionKey: "a" });
    expect(await bench.failure("releaseLease", { ...ref, partitionKey: "a" })).toBe("not-found");
    expect(await bench.failure("releaseLease", { topic: "t", group: "x", partitionKey: "a" })).toBe(
      "not-found",
    );
  });
});
