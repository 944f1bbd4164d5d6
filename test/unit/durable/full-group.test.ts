import { expect, test } from "vitest";
import { MAX_GROUP_LANES } from "../../../src/core/dispatch-limits.ts";
import { Bench } from "./harness.ts";

const BATCH = 100;

test("G11 no leak: more partitions than a group keeps in memory flow through it, one message each", async () => {
  const bench = new Bench();
  const batches = MAX_GROUP_LANES / BATCH + 5;
  let received = 0;
  for (let batch = 0; batch < batches; batch += 1) {
    await bench.log.append(
      "t",
      Array.from({ length: BATCH }, (_, at) => {
        const id = `${batch}-${at}`;
        return { id, partitionKey: id, body: "0", contentType: null, headers: "", delayMs: 0 };
      }),
    );
    // The clock hardly moves, so that no lease ends by itself.
    const deliveries = await bench.take("t", "g", { maxMessages: BATCH });
    received += deliveries.length;
    await bench.settle("t", "g", deliveries);
  }
  expect(received).toBe(batches * BATCH);
  expect(bench.count("queue_partition_leases")).toBeLessThanOrEqual(MAX_GROUP_LANES);
}, 120_000);
