import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { Api } from "./api.ts";
import { freshTopic, ids, type Live, numbered, only, setup, until, untilClock } from "./harness.ts";
import { expectProblem } from "./problem.ts";
import type { NewWireMessage, WireDeadLetterEntry } from "./wire.ts";

let live: Live;
let api: Api;
beforeAll(async () => {
  live = await setup();
  api = live.api("demo");
});
afterAll(() => live?.close());

/** Publishes, has `group` reject all of it, and waits for the copies. */
async function deadLettered(topic: string, messages: NewWireMessage[], group = "g") {
  await api.putGroup(topic, group, { maxInFlightPerPartition: 100 });
  if (messages.length > 0) await api.publish(topic, messages);
  const before = (await api.deadLetters(topic)).length;
  const { deliveries } = await api.receive(topic, group, { maxMessages: 100 });
  const rejects = deliveries.map(({ receipt }) => ({
    receipt,
    action: "reject",
    reason: `no use to ${group}`,
  }));
  await api.settle(topic, group, rejects);
  const wanted = before + deliveries.length;
  await until("the copies", async () => (await api.deadLetters(topic)).length === wanted);
  return deliveries;
}

const redrive = (topic: string, json: unknown = {}) =>
  api.request<{ redriven: number }>("POST", `topics/${topic}/dead-letters/redrive`, { json });

describe("GET dead-letters", () => {
  test("lists each with its group, reason, attempts and time", async () => {
    const topic = freshTopic();
    const beforeMs = Date.now();
    await deadLettered(topic, [{ id: "x", partitionKey: "k", body: 1 }]);
    const reply = await api.request<{ deadLetters: WireDeadLetterEntry[]; next: unknown }>(
      "GET",
      `topics/${topic}/dead-letters`,
    );
    expect(reply.status).toBe(200);
    expect(reply.json.next).toBeNull();
    const dead = only(reply.json.deadLetters);
    expect(dead).toMatchObject({
      id: "x",
      partitionKey: "k",
      group: "g",
      reason: "no use to g",
      attempts: 1,
      offset: expect.any(Number),
    });
    expect(dead.failedAt).toBeGreaterThanOrEqual(beforeMs - 5);
    expect(dead.failedAt).toBeLessThanOrEqual(Date.now());
  });

  test("pages", async () => {
    const topic = freshTopic();
    await deadLettered(topic, numbered(5, "k"));
    const seen: string[] = [];
    let after = "";
    for (let page = 0; page < 4; page++) {
      const { json } = await api.request<{ deadLetters: WireDeadLetterEntry[]; next: number | null }>(
        "GET",
        `topics/${topic}/dead-letters?limit=2${after}`,
      );
      expect(json.deadLetters.length).toBeLessThanOrEqual(2);
      seen.push(...ids(json.deadLetters));
      if (json.next === null) break;
      after = `&after=${json.next}`;
    }
    expect(seen).toEqual(["m0", "m1", "m2", "m3", "m4"]);
  });

  test("a topic without dead letters has none", async () => {
    const topic = freshTopic();
    await api.putTopic(topic, {});
    const reply = await api.request("GET", `topics/${topic}/dead-letters`);
    expect(reply.json).toEqual({ deadLetters: [], next: null });
    expectProblem(
      await api.request("GET", `topics/${topic}/dead-letters?limit=101`),
      "invalid-request",
      "limit",
    );
    expectProblem(
      await api.request("GET", `topics/${topic}/dead-letters?offset=1`),
      "invalid-request",
      "offset",
    );
  });
});

describe("the dead-letter topic", () => {
  test("is read like a topic; each delivery carries where it came from", async () => {
    const topic = freshTopic();
    const headers = { "x-dev": "alice" };
    await deadLettered(topic, [
      { id: "json", partitionKey: "k", body: { a: 1 }, headers },
      { id: "bytes", partitionKey: "k", bodyBase64: "AP8=", contentType: "image/png" },
    ]);
    const { deliveries } = await api.receive(`${topic}_dlq`, "inspect");
    expect(deliveries).toMatchObject([
      { id: "json", topic: `${topic}_dlq`, partitionKey: "k", attempt: 1, body: { a: 1 }, headers },
      { id: "bytes", topic: `${topic}_dlq`, bodyBase64: "AP8=", contentType: "image/png" },
    ]);
    const original = { json: "json", bytes: "bytes" };
    for (const delivery of deliveries) {
      expect(delivery.deadLetter).toEqual({
        originalTopic: topic,
        originalId: original[delivery.id as keyof typeof original],
        group: "g",
        failedAt: expect.any(Number),
        attempts: 1,
        reason: "no use to g",
      });
    }
  });

  test("its groups have no limit of attempts and do not dead-letter again", async () => {
    const topic = freshTopic();
    await deadLettered(topic, numbered(1, "k"));
    const dlq = `${topic}_dlq`;
    for (let attempt = 1; attempt <= 6; attempt++) {
      const delivery = only(await api.receiveCount(dlq, "inspect", 1));
      expect(delivery.attempt).toBe(attempt);
      const nack = { receipt: delivery.receipt, action: "nack", delayMs: 0 };
      expect(await api.settle(dlq, "inspect", [nack])).toEqual([{ receipt: delivery.receipt, status: "ok" }]);
    }
    expect(ids(await api.listMessages(dlq))).toEqual(["m0"]);
    const topics = (await api.request<{ topics: string[] }>("GET", "topics")).json.topics;
    expect(topics).not.toContain(`${dlq}_dlq`);
  });

  test("a receive that waits there is woken by the copy", async () => {
    const topic = freshTopic();
    await deadLettered(topic, numbered(1, "k", "first"));
    only((await api.receive(`${topic}_dlq`, "inspect")).deliveries);
    const waiting = api.receive(`${topic}_dlq`, "inspect", { waitMs: 20_000 });
    await untilClock(Date.now() + 200);
    const startMs = Date.now();
    await deadLettered(topic, numbered(1, "k"));
    expect(ids((await waiting).deliveries)).toEqual(["m0"]);
    expect(Date.now() - startMs).toBeLessThan(1500);
  });

  test("keeps messages for 14 days", async () => {
    const topic = freshTopic();
    await deadLettered(topic, numbered(1, "k"));
    const fourteenDaysMs = 14 * 24 * 3600 * 1000;
    expect(await api.putTopic(`${topic}_dlq`, {})).toMatchObject({ maxRetentionMs: fourteenDaysMs });
  });

  test("two groups' dead letters of one message are two", async () => {
    const topic = freshTopic();
    await deadLettered(topic, numbered(1, "k"), "g");
    await deadLettered(topic, [], "h");
    const dead = await api.deadLetters(topic);
    expect(dead.map(({ id, group }) => `${id} ${group}`).sort()).toEqual(["m0 g", "m0 h"]);
  });
});

describe("redrive", () => {
  test("puts all back for the group that failed them, as attempt 1, and for no other", async () => {
    const topic = freshTopic();
    await api.putGroup(topic, "h");
    await deadLettered(topic, numbered(3, "k"));
    await api.ack(topic, "h", await api.receiveCount(topic, "h", 3));
    const reply = await redrive(topic);
    expect(reply.status, reply.text).toBe(200);
    expect(reply.json).toEqual({ redriven: 3 });
    expect(await api.deadLetters(topic)).toEqual([]);
    const { deliveries } = await api.receive(topic, "g");
    expect(deliveries.map(({ id, attempt, body }) => [id, attempt, body])).toEqual([
      ["m0", 1, 0],
      ["m1", 1, 1],
      ["m2", 1, 2],
    ]);
    expect((await api.receive(topic, "h", { waitMs: 200 })).deliveries).toEqual([]);
    expect((await api.getTopic(topic)).groups.find((group) => group.group === "h")?.backlog).toBe(0);
    expect((await redrive(topic)).json).toEqual({ redriven: 0 });
  });

  test("goes to the tail of the partition", async () => {
    const topic = freshTopic();
    await deadLettered(topic, numbered(1, "k"));
    await api.publish(topic, numbered(2, "k", "later"));
    await redrive(topic);
    await api.publish(topic, numbered(1, "k", "last"));
    expect(ids((await api.receive(topic, "g")).deliveries)).toEqual(["later0", "later1", "m0", "last0"]);
  });

  test("wakes a waiting receive", async () => {
    const topic = freshTopic();
    await deadLettered(topic, numbered(1, "k"));
    const waiting = api.receive(topic, "g", { waitMs: 20_000 });
    const startMs = Date.now();
    await redrive(topic);
    expect(ids((await waiting).deliveries)).toEqual(["m0"]);
    expect(Date.now() - startMs).toBeLessThan(1500);
  });

  test("a redriven message can fail and be redriven again; a publish of its ID stays a duplicate", async () => {
    const topic = freshTopic();
    await deadLettered(topic, numbered(1, "k"));
    for (let round = 0; round < 3; round++) {
      expect((await redrive(topic)).json).toEqual({ redriven: 1 });
      const delivery = only(await api.receiveCount(topic, "g", 1));
      await api.settle(topic, "g", [
        { receipt: delivery.receipt, action: "reject", reason: `round ${round}` },
      ]);
      const dead = await until("the dead letter", async () => (await api.deadLetters(topic))[0]);
      expect(dead).toMatchObject({ id: "m0", reason: `round ${round}` });
      expect(only(await api.publish(topic, numbered(1, "k"))).duplicate).toBe(true);
    }
    expect(await api.deadLetters(topic)).toHaveLength(1);
  });

  test("by ID and key, by group, and by number", async () => {
    const topic = freshTopic();
    await deadLettered(topic, [...numbered(3, "k1"), ...numbered(3, "k2")], "g");
    await deadLettered(topic, [], "h");
    expect(
      (await redrive(topic, { ids: [{ id: "m1", partitionKey: "k1" }], group: "g" })).json.redriven,
    ).toBe(1);
    const left = await api.deadLetters(topic);
    expect(left).toHaveLength(11);
    expect(left.some((dead) => dead.id === "m1" && dead.partitionKey === "k1" && dead.group === "g")).toBe(
      false,
    );
    expect((await redrive(topic, { group: "h", limit: 2 })).json.redriven).toBe(2);
    const afterLimit = await api.deadLetters(topic);
    expect(afterLimit.filter((dead) => dead.group === "h")).toHaveLength(4);
    expect(afterLimit.filter((dead) => dead.group === "g")).toHaveLength(5);
    expect((await redrive(topic, { group: "h" })).json.redriven).toBe(4);
    expect((await redrive(topic, { group: "nobody" })).json.redriven).toBe(0);
    expect((await redrive(topic, { ids: [{ id: "m9", partitionKey: "k1" }] })).json.redriven).toBe(0);
  });

  test("a dead letter whose group is gone stays and is not counted", async () => {
    const topic = freshTopic();
    await deadLettered(topic, numbered(1, "k"));
    expect((await api.request("DELETE", `topics/${topic}/groups/g?force=true`)).status).toBe(204);
    expect((await redrive(topic)).json).toEqual({ redriven: 0 });
    expect(await api.deadLetters(topic)).toHaveLength(1);
  });

  test.each([
    [{ ids: [{ id: "x" }] }, "ids[0].partitionKey"],
    [{ ids: [{ partitionKey: "k" }] }, "ids[0].id"],
    [{ ids: "x" }, "ids"],
    [{ limit: 0 }, "limit"],
    [{ limit: -1 }, "limit"],
    [{ limit: 1.5 }, "limit"],
    [{ group: "Not Good" }, "group"],
    [{ all: true }, "all"],
  ])("refuses %j", async (json, field) => {
    const topic = freshTopic();
    await deadLettered(topic, numbered(1, "k"));
    expectProblem(await redrive(topic, json), "invalid-request", field);
    expect(await api.deadLetters(topic)).toHaveLength(1);
  });
});

test("DELETE dead-letters purges them and nothing else", async () => {
  const topic = freshTopic();
  await deadLettered(topic, numbered(3, "k"));
  const reply = await api.request("DELETE", `topics/${topic}/dead-letters`);
  expect(reply.status, reply.text).toBe(200);
  expect(reply.json).toEqual({ deleted: 3 });
  expect(await api.deadLetters(topic)).toEqual([]);
  expect((await redrive(topic)).json).toEqual({ redriven: 0 });
  expect(ids(await api.listMessages(topic))).toEqual(["m0", "m1", "m2"]);
});

test("a lapse that spends the last attempt dead-letters with that reason", async () => {
  const topic = freshTopic();
  await api.putGroup(topic, "g", { maxAttempts: 1, visibilityTimeoutMs: 1000 });
  await api.publish(topic, numbered(1, "k"));
  only((await api.receive(topic, "g")).deliveries);
  const dead = await until("the dead letter", async () => (await api.deadLetters(topic))[0]);
  expect(dead).toMatchObject({ id: "m0", attempts: 1, reason: "retry limit exceeded" });
});

test("the last real reason is kept when the end is a lapse", async () => {
  const topic = freshTopic();
  await api.putGroup(topic, "g", { maxAttempts: 2, visibilityTimeoutMs: 1000 });
  await api.publish(topic, numbered(1, "k"));
  const first = only((await api.receive(topic, "g")).deliveries);
  const nack = { receipt: first.receipt, action: "nack", reason: "billing is down", delayMs: 0 };
  await api.settle(topic, "g", [nack]);
  only((await api.receive(topic, "g")).deliveries);
  const dead = await until("the dead letter", async () => (await api.deadLetters(topic))[0]);
  expect(dead).toMatchObject({ attempts: 2, reason: "billing is down" });
});
