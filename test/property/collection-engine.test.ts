import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { CollectionWorld, MAX_RETENTION_MS, RETENTION_MS, type Step } from "./collection-world.ts";

/** As in replay.ts, for properties that await: the same cases unless PROPERTY_SEED says otherwise. */
const SEED = Number(process.env.PROPERTY_SEED ?? 20_260_517);
const RUNS = 25 * Number(process.env.PROPERTY_FACTOR ?? 1);

const pick = fc.nat(30);
const group = fc.nat(1);
const key = fc.nat(2);
const count = fc.integer({ min: 1, max: 6 });
const action = fc.constantFrom(
  "ack" as const,
  "ack" as const,
  "nack" as const,
  "postpone" as const,
  "reject" as const,
);
const delayMs = fc.constantFrom(0, 500, 3000);
const step: fc.Arbitrary<Step> = fc.oneof(
  { weight: 5, arbitrary: fc.record({ kind: fc.constant("publish" as const), key, count, delayMs }) },
  { weight: 6, arbitrary: fc.record({ kind: fc.constant("take" as const), group, maxMessages: count }) },
  { weight: 6, arbitrary: fc.record({ kind: fc.constant("settle" as const), action, pick, count }) },
  { weight: 4, arbitrary: fc.record({ kind: fc.constant("advance" as const), ms: fc.nat(1500) }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant("restart" as const) }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant("delete" as const), pick }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant("redrive" as const) }) },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant("reset" as const), group, key, pick }) },
  { weight: 3, arbitrary: fc.record({ kind: fc.constant("collect" as const) }) },
);
const life = fc.array(step, { minLength: 10, maxLength: 60 });

describe("a topic's life beside a model that knows no lanes", () => {
  test("G10 collection is safe, and backlog, lag and age are exact after every step", {
    timeout: 60_000,
  }, async () => {
    const property = fc.asyncProperty(life, async (steps) => {
      const world = new CollectionWorld();
      await world.open();
      for (const one of steps) {
        await world.run(one);
        await world.check();
        expect(world.bench.reports).toEqual([]);
      }
    });
    await fc.assert(property, { seed: SEED, numRuns: RUNS });
  });

  test("G10 collection is safe: at the end everything goes, once settled or once too old", {
    timeout: 60_000,
  }, async () => {
    const property = fc.asyncProperty(life, fc.boolean(), async (steps, settles) => {
      const world = new CollectionWorld();
      await world.open();
      for (const one of steps) await world.run(one);
      const { bench } = world;
      const left = new Map([...world.unsettled].map(([name, offsets]) => [name, offsets.size]));
      await bench.advance(settles ? RETENTION_MS + 3000 : MAX_RETENTION_MS + 5000);
      if (settles) for (const name of left.keys()) await bench.drain("t", name);
      await bench.advance(settles ? RETENTION_MS : 0);
      await bench.call("collect", {});
      expect(await world.stored()).toEqual([]);
      for (const [name, unsettled] of left) {
        const stats = await bench.groupStats("t", name);
        expect(stats).toMatchObject({ backlog: 0, inFlight: 0, expired: settles ? 0 : unsettled });
      }
      await bench.advance(10_000);
      const rows = ["queue_delivery_state", "queue_partition_leases"];
      expect(rows.map((table) => bench.count(table))).toEqual([0, 0]);
      expect(bench.reports).toEqual([]);
    });
    await fc.assert(property, { seed: SEED, numRuns: RUNS });
  });
});
