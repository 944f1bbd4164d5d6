import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { Api } from "./api.ts";
import { freshTopic, ids, type Live, numbered, only, setup, until, untilClock } from "./harness.ts";
import { expectProblem } from "./problem.ts";

interface GcReply {
  deletedMessages: number;
  releasedPartitions: number;
  stopped: string;
}

let live: Live;
let tenants = 0;
const TENANTS = Array.from({ length: 20 }, (_, i) => `gc-${i}`);
beforeAll(async () => {
  live = await setup({ tenants: TENANTS });
});
afterAll(() => live?.close());

/** A tenant of its own for each test, since a pass is for a whole tenant. */
function freshTenant(): { api: Api; topic: string; gc: () => Promise<GcReply> } {
  const api = live.api(TENANTS[tenants++] ?? expect.fail("more tenants are needed"));
  const gc = async () => {
    const reply = await api.request<GcReply>("POST", "gc");
    expect(reply.status, reply.text).toBe(200);
    return reply.json;
  };
  return { api, topic: freshTopic(), gc };
}

const RETENTION_MS = 1000;

async function consume(api: Api, topic: string, group: string, count: number): Promise<void> {
  await api.ack(topic, group, await api.receiveCount(topic, group, count));
}

describe("G10 collection is safe", () => {
  test("G10 collection is safe: a pass answers what it did", async () => {
    const { gc } = freshTenant();
    const reply = await gc();
    expect(reply).toMatchObject({ deletedMessages: 0, releasedPartitions: 0 });
    expect(reply.stopped).toEqual(expect.stringMatching(/\S/));
  });

  test("G10 collection is safe: settled messages go once their retention has passed, not before", async () => {
    const { api, topic, gc } = freshTenant();
    await api.putTopic(topic, { retentionMs: 2000 });
    await api.publish(topic, numbered(5, "k"));
    const publishedByMs = Date.now();
    await consume(api, topic, "g", 5);
    expect((await gc()).deletedMessages).toBe(0);
    expect(Date.now() - publishedByMs, "too slow a machine to tell").toBeLessThan(1900);
    await until("the collection", async () => (await gc()).deletedMessages === 5);
    expect(Date.now() - publishedByMs).toBeGreaterThanOrEqual(1900);
    expect(await api.listMessages(topic)).toEqual([]);
    expect(await api.getTopic(topic)).toMatchObject({ messages: 0, partitions: 0 });
  });

  test("G10 collection is safe: what a group has not settled stays, and what is below it goes", async () => {
    const { api, topic, gc } = freshTenant();
    await api.putTopic(topic, { retentionMs: RETENTION_MS });
    await api.publish(topic, numbered(4, "k"));
    const { deliveries } = await api.receive(topic, "g");
    await api.ack(topic, "g", deliveries.slice(0, 2));
    await untilClock(Date.now() + RETENTION_MS + 100);
    expect((await gc()).deletedMessages).toBe(2);
    expect((await gc()).deletedMessages).toBe(0);
    expect(ids(await api.listMessages(topic))).toEqual(["m2", "m3"]);
    await api.ack(topic, "g", deliveries.slice(2));
    expect((await gc()).deletedMessages).toBe(2);
  });

  test("G10 collection is safe: every group must have settled it", async () => {
    const { api, topic, gc } = freshTenant();
    await api.putTopic(topic, { retentionMs: RETENTION_MS });
    await api.putGroup(topic, "slow");
    await api.publish(topic, numbered(3, "k"));
    await consume(api, topic, "fast", 3);
    await untilClock(Date.now() + RETENTION_MS + 100);
    expect((await gc()).deletedMessages).toBe(0);
    await consume(api, topic, "slow", 3);
    expect((await gc()).deletedMessages).toBe(3);
  });

  test("G10 collection is safe: a deleted group holds nothing back", async () => {
    const { api, topic, gc } = freshTenant();
    await api.putTopic(topic, { retentionMs: RETENTION_MS });
    await api.putGroup(topic, "gone");
    await api.publish(topic, numbered(3, "k"));
    await consume(api, topic, "g", 3);
    await untilClock(Date.now() + RETENTION_MS + 100);
    expect((await gc()).deletedMessages).toBe(0);
    expect((await api.request("DELETE", `topics/${topic}/groups/gone`)).status).toBe(204);
    expect((await gc()).deletedMessages).toBe(3);
  });

  test("G10 collection is safe: without a group nothing goes before maxRetentionMs", async () => {
    const { api, topic, gc } = freshTenant();
    await api.putTopic(topic, { retentionMs: RETENTION_MS, maxRetentionMs: 3000 });
    await api.publish(topic, numbered(3, "k"));
    const publishedByMs = Date.now();
    await untilClock(publishedByMs + RETENTION_MS + 300);
    expect((await gc()).deletedMessages).toBe(0);
    await until("the end of maxRetentionMs", async () => (await gc()).deletedMessages === 3);
    expect(Date.now() - publishedByMs).toBeGreaterThanOrEqual(2900);
  });

  test("G10 collection is safe: too old goes even unsettled, is counted as expired, and frees its lane", async () => {
    const { api, topic, gc } = freshTenant();
    await api.putTopic(topic, { retentionMs: RETENTION_MS, maxRetentionMs: 1500 });
    await api.putGroup(topic, "g", { maxInFlightPerPartition: 1 });
    await api.publish(topic, numbered(3, "k"));
    const held = only((await api.receive(topic, "g")).deliveries);
    await untilClock(Date.now() + 1600);
    expect((await gc()).deletedMessages).toBe(3);
    await until("expired", async () => (await api.getTopic(topic)).groups[0]?.expired === 3);
    expect(await api.getTopic(topic)).toMatchObject({ messages: 0, groups: [{ backlog: 0, inFlight: 0 }] });
    expect(["settled", "stale"]).toContain(
      await api.settleOne(topic, "g", { receipt: held.receipt, action: "ack" }),
    );
    await api.publish(topic, numbered(1, "k", "next"));
    expect(ids((await api.receive(topic, "g", { waitMs: 3000 })).deliveries)).toEqual(["next0"]);
  });

  test("G10 collection is safe: the age of a delayed message counts from when it was due", async () => {
    const { api, topic, gc } = freshTenant();
    await api.putTopic(topic, { retentionMs: RETENTION_MS, maxRetentionMs: 1000 });
    await api.publish(topic, [{ id: "later", partitionKey: "k", body: 1, delayMs: 2000 }]);
    const dueByMs = Date.now() + 2000;
    await api.putGroup(topic, "g");
    await untilClock(dueByMs - 500);
    expect((await gc()).deletedMessages).toBe(0);
    await until("the end of its age", async () => (await gc()).deletedMessages === 1);
    expect(Date.now()).toBeGreaterThanOrEqual(dueByMs + 900);
  });

  test("G10 collection is safe: an ID is forgotten with its message and not before", async () => {
    const { api, topic, gc } = freshTenant();
    await api.putTopic(topic, { retentionMs: RETENTION_MS });
    const publish = async () => only(await api.publish(topic, numbered(1, "k"))).duplicate;
    expect(await publish()).toBe(false);
    await consume(api, topic, "g", 1);
    expect(await publish()).toBe(true);
    await untilClock(Date.now() + RETENTION_MS + 100);
    expect((await gc()).deletedMessages).toBe(1);
    expect(await publish()).toBe(false);
    expect(only(await api.receiveCount(topic, "g", 1))).toMatchObject({ id: "m0", attempt: 1 });
  });

  test("G10 collection is safe: many messages go in bounded passes, each saying whether there is more", async () => {
    const { api, topic, gc } = freshTenant();
    await api.putTopic(topic, { retentionMs: RETENTION_MS });
    await api.putGroup(topic, "g", { maxInFlightPerPartition: 1000 });
    for (let i = 0; i < 20; i++) await api.publish(topic, numbered(100, `k${i}`));
    for (let i = 0; i < 20; i++) await consume(api, topic, "g", 100);
    await untilClock(Date.now() + RETENTION_MS + 100);
    let deleted = 0;
    for (let pass = 0; pass < 50 && deleted < 2000; pass++) {
      const reply = await gc();
      expect(reply.deletedMessages).toBeGreaterThan(0);
      deleted += reply.deletedMessages;
    }
    expect(deleted).toBe(2000);
    expect(await gc()).toMatchObject({ deletedMessages: 0, stopped: "done" });
  });

  test("G10 collection is safe: cron collects every tenant", async () => {
    const scenes = [freshTenant(), freshTenant()];
    for (const { api, topic } of scenes) {
      await api.putTopic(topic, { retentionMs: RETENTION_MS });
      await api.publish(topic, numbered(3, "k"));
      await consume(api, topic, "g", 3);
    }
    await untilClock(Date.now() + RETENTION_MS + 100);
    expect(await live.fireCron()).toEqual({ ok: true });
    for (const { api, topic } of scenes) {
      await until("collected", async () => (await api.listMessages(topic)).length === 0, 3000);
    }
  });

  test("G10 collection is safe: concurrent passes, publishes and receives lose nothing", async () => {
    const { api, topic, gc } = freshTenant();
    await api.putTopic(topic, { retentionMs: RETENTION_MS });
    await api.putGroup(topic, "g", { maxInFlightPerPartition: 50 });
    let working = true;
    const collecting = (async () => {
      let deleted = 0;
      while (working) deleted += (await gc()).deletedMessages;
      return deleted;
    })();
    const seen: string[] = [];
    const endMs = Date.now() + 4000;
    let sent = 0;
    while (Date.now() < endMs) {
      await api.publish(topic, numbered(5, `k${sent % 3}`, `${sent}-`));
      sent += 5;
      const { deliveries } = await api.receive(topic, "g", { maxMessages: 100 });
      seen.push(...ids(deliveries));
      if (deliveries.length > 0) await api.ack(topic, "g", deliveries);
    }
    working = false;
    expect(await collecting).toBeGreaterThan(0);
    expect(new Set(seen).size).toBe(seen.length);
    expect(seen).toHaveLength(sent);
  });
});

test("POST gc takes no parameters and needs an existing tenant", async () => {
  const { api } = freshTenant();
  expectProblem(await api.request("POST", "gc?force=true"), "invalid-request", "force");
});
