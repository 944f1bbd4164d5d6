import { expect } from "vitest";
import type { Api } from "./api.ts";
import { until } from "./harness.ts";

/** What there is to see on a busy day, all of it made by the API: lanes that wait, shares, failures, dead letters. */

/** Has `group` reject the next `count` messages with `reason`, and waits for the copies. Leaves no subscriber. */
export async function deadLetter(
  api: Api,
  topic: string,
  group: string,
  count: number,
  reason = "schema 4 is not supported",
): Promise<void> {
  await api.putGroup(topic, group, { maxInFlightPerPartition: 100 });
  const before = (await api.deadLetters(topic)).length;
  const deliveries = await api.receiveCount(topic, group, count, { subscriber: "rejecter" });
  const rejects = deliveries.map(({ receipt }) => ({ receipt, action: "reject", reason }));
  await api.settle(topic, group, rejects);
  await until("the copies", async () => (await api.deadLetters(topic)).length === before + count);
  const left = await api.request("DELETE", `topics/${topic}/groups/${group}/subscribers/rejecter`);
  expect(left.status).toBe(204);
}

/**
 * `orders`, strict for `billing`: the lane of `order-9` backs off, others are in flight, postponed or wait; two
 * subscribers hold two lanes each. Two dead letters of `warehouse`, `search-index` paused, and a topic without groups.
 */
export async function busyTopic(api: Api): Promise<void> {
  await api.publish("orders", [
    { id: "order-9/created", partitionKey: "order-9", body: { total: 1, note: "no such article" } },
    { id: "order-9/paid", partitionKey: "order-9", body: { total: 2 } },
  ]);
  await deadLetter(api, "orders", "warehouse", 2);
  await api.putGroup("orders", "billing", {
    maxInFlightPerPartition: 1,
    visibilityTimeoutMs: 600_000,
    leaseDurationMs: 300_000,
    retry: { initialBackoffMs: 580_000, maxBackoffMs: 580_000 },
  });
  await api.putGroup("orders", "search-index", { paused: true });
  const messages = ["order-1", "order-2", "order-3", "order-4"].flatMap((partitionKey) =>
    ["created", "paid", "shipped"].map((cause) => ({
      id: `${partitionKey}/${cause}`,
      partitionKey,
      body: { total: 42 },
    })),
  );
  await api.publish("orders", messages);
  const [failed] = await api.receiveCount("orders", "billing", 2, { subscriber: "billing-7f9c" });
  const [early] = await api.receiveCount("orders", "billing", 2, { subscriber: "billing-b21d" });
  if (!failed || !early) return expect.fail("a subscriber got nothing");
  await api.settle("orders", "billing", [
    { receipt: failed.receipt, action: "nack", reason: "timeout calling the payment provider" },
    { receipt: early.receipt, action: "postpone", delayMs: 590_000 },
  ]);
  await api.putTopic("audit-trail", {});
}
