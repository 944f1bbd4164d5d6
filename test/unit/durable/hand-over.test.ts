import { describe, expect, test } from "vitest";
import type { DeliveryView } from "../../../src/protocol/tenant-calls.ts";
import { Bench } from "./harness.ts";

const KEYS = ["p0", "p1", "p2", "p3"];

/** Receives with a wait, and says on the bench's clock when it was answered. */
function waiting(bench: Bench, subscriber: string, waitMs: number, maxMessages = 10) {
  const outcome: { deliveries: DeliveryView[] | null; atMs: number } = { deliveries: null, atMs: 0 };
  bench.take("t", "g", { subscriber, waitMs, maxMessages }).then((deliveries) => {
    outcome.deliveries = deliveries;
    outcome.atMs = bench.nowMs;
  });
  return outcome;
}

describe("a lane changes hands", () => {
  test("as soon as its owner no longer counts as asking, and a waiting receive gets it then", async () => {
    const bench = new Bench();
    await bench.publish("t", [{ id: "a", partitionKey: "k" }]);
    await bench.settle("t", "g", await bench.take("t", "g", { subscriber: "w1" }));
    const askedAtMs = bench.nowMs;
    await bench.publish("t", [{ id: "b", partitionKey: "k" }]);
    const second = waiting(bench, "w2", 12_000);
    await bench.advance(1900);
    expect(second.deliveries).toBeNull();
    await bench.advance(200);
    expect(second.deliveries?.map(({ id }) => id)).toEqual(["b"]);
    expect(second.atMs - askedAtMs).toBeLessThanOrEqual(2020);
  });

  test("G4: when it drained for a whole lease, although its owner still works on a message of it", async () => {
    const bench = new Bench();
    await bench.putGroup("t", "g", { leaseDurationMs: 5000 });
    await bench.publish(
      "t",
      KEYS.flatMap((partitionKey) => [0, 1, 2].map((n) => ({ id: `${partitionKey}-${n}`, partitionKey }))),
    );
    const held = await bench.take("t", "g", {
      subscriber: "ann",
      maxMessages: 4,
      visibilityTimeoutMs: 3_600_000,
    });
    expect(new Set(held.map(({ partitionKey }) => partitionKey)).size).toBe(4);
    const seen: string[] = [];
    for (let round = 0; round < 8; round += 1) {
      for (const subscriber of ["bob", "ann"]) {
        const deliveries = await bench.take("t", "g", { subscriber });
        seen.push(...deliveries.map(({ id }) => id));
        await bench.settle("t", "g", deliveries);
      }
      await bench.advance(1000);
    }
    expect(seen).toHaveLength(8);
    // What ann holds is still hers.
    expect(await bench.settle("t", "g", held)).toEqual(["ok", "ok", "ok", "ok"]);
  });

  test("G4: a strict lane waits for the delivery under way", async () => {
    const bench = new Bench();
    await bench.putGroup("t", "g", { leaseDurationMs: 5000, maxInFlightPerPartition: 1 });
    await bench.publish(
      "t",
      KEYS.flatMap((partitionKey) => [0, 1].map((n) => ({ id: `${partitionKey}-${n}`, partitionKey }))),
    );
    await bench.take("t", "g", { subscriber: "ann", maxMessages: 4, visibilityTimeoutMs: 3_600_000 });
    for (let round = 0; round < 8; round += 1) {
      expect(await bench.take("t", "g", { subscriber: "bob" })).toEqual([]);
      await bench.call("heartbeat", { topic: "t", group: "g", subscriber: "ann" });
      await bench.advance(1000);
    }
  });
});
