import { connect } from "node:net";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { freshTopic, ids, type Live, numbered, only, SECRET, setup, until, untilClock } from "./harness.ts";
import { expectProblem } from "./problem.ts";
import { tenantToken } from "./tokens.ts";
import type { ReceiveReply, WireTopic } from "./wire.ts";

const MIB = 1024 * 1024;
/** What a wake-up may take on a busy machine; a timer that polls once a second would not pass. */
const WAKE_WITHIN_MS = 700;

let live: Live;
beforeAll(async () => {
  live = await setup();
});
afterAll(() => live?.close());

describe("the reply", () => {
  test("a delivery has every pinned field", async () => {
    const api = live.api("demo");
    const topic = freshTopic();
    await api.publish(topic, [
      { id: "a", partitionKey: "k", body: { n: [1] }, headers: { "x-dev": "alice" } },
    ]);
    const beforeMs = Date.now();
    const reply = await api.receive(topic, "g");
    const delivery = only(reply.deliveries);
    expect(delivery).toEqual({
      receipt: expect.stringMatching(/\S/),
      id: "a",
      topic,
      partitionKey: "k",
      offset: expect.any(Number),
      attempt: 1,
      body: { n: [1] },
      contentType: "application/json",
      headers: { "x-dev": "alice" },
      publishedAt: expect.any(Number),
      visibleUntil: expect.any(Number),
      leaseEpoch: expect.any(Number),
    });
    for (const name of ["offset", "publishedAt", "visibleUntil", "leaseEpoch"] as const) {
      expect(Number.isSafeInteger(delivery[name]), name).toBe(true);
      expect(delivery[name], name).toBeGreaterThan(0);
    }
    expect(Math.abs(delivery.visibleUntil - (beforeMs + 30_000))).toBeLessThan(1500);
    expect({ partitions: reply.partitions, partitionsHeld: reply.partitionsHeld }).toEqual({
      partitions: ["k"],
      partitionsHeld: 1,
    });
  });

  test("an empty topic answers empty lists, and the receive makes topic and group", async () => {
    const api = live.api("demo");
    const topic = freshTopic();
    const reply = await api.request("POST", `topics/${topic}/groups/g/receive`, {
      json: { subscriber: "s1" },
    });
    expect(reply.status).toBe(200);
    expect(reply.headers.get("content-type")).toMatch(/^application\/json(;|$)/);
    expect(reply.json).toEqual({ deliveries: [], partitions: [], partitionsHeld: 0 });
    expect((await api.request("GET", `topics/${topic}/groups/g`)).json).toEqual({
      visibilityTimeoutMs: 30_000,
      leaseDurationMs: 30_000,
      maxInFlightPerPartition: 10,
      maxAttempts: 3,
      retry: { initialBackoffMs: 1000, multiplier: 2, maxBackoffMs: 30_000 },
      deadLetters: true,
      startFrom: "earliest",
      paused: false,
      createdBy: "receive",
    });
    expect((await api.getTopic(topic)).groups.map((group) => group.group)).toEqual(["g"]);
  });

  test("shows at most 100 partitions and counts all", async () => {
    const api = live.api("demo");
    const topic = freshTopic();
    const messages = Array.from({ length: 120 }, (_, i) => ({ id: `m${i}`, partitionKey: `k${i}`, body: i }));
    await api.publish(topic, messages.slice(0, 60));
    await api.publish(topic, messages.slice(60));
    await api.receiveCount(topic, "g", 120);
    const reply = await api.receive(topic, "g");
    expect(reply.partitionsHeld).toBe(120);
    expect(new Set(reply.partitions).size).toBe(100);
    expect(reply.partitions).toHaveLength(100);
  });
});

describe("how many", () => {
  test("10 by default, what was asked otherwise, 100 at most", async () => {
    const api = live.api("demo");
    const topic = freshTopic();
    const messages = Array.from({ length: 100 }, (_, i) => ({
      id: `m${i}`,
      partitionKey: `k${i % 20}`,
      body: i,
    }));
    await api.publish(topic, messages);
    expect((await api.receive(topic, "default")).deliveries).toHaveLength(10);
    expect((await api.receive(topic, "one", { maxMessages: 1 })).deliveries).toHaveLength(1);
    expect((await api.receive(topic, "all", { maxMessages: 100 })).deliveries).toHaveLength(100);
  });

  test("a partition has at most maxInFlightPerPartition deliveries in flight", async () => {
    const api = live.api("demo");
    const topic = freshTopic();
    await api.publish(topic, numbered(25, "k"));
    const first = await api.receive(topic, "g", { maxMessages: 100 });
    expect(ids(first.deliveries)).toEqual(numbered(10, "k").map((message) => message.id));
    expect((await api.receive(topic, "g", { maxMessages: 100 })).deliveries).toEqual([]);
    await api.ack(topic, "g", first.deliveries.slice(0, 3));
    expect(ids((await api.receive(topic, "g", { maxMessages: 100 })).deliveries)).toEqual([
      "m10",
      "m11",
      "m12",
    ]);
  });

  test("partitions are taken round-robin: a deep one does not starve the others", async () => {
    const api = live.api("demo");
    const topic = freshTopic();
    await api.publish(topic, numbered(90, "deep", "d"));
    await api.publish(topic, [...numbered(3, "b", "b"), ...numbered(3, "c", "c")]);
    const { deliveries } = await api.receive(topic, "g", { maxMessages: 9 });
    expect(ids(deliveries).sort()).toEqual(["b0", "b1", "b2", "c0", "c1", "c2", "d0", "d1", "d2"]);
  });

  test("the reply stays within 8 MiB, is never empty while a message is due, and the rest follows", async () => {
    const api = live.api("demo");
    const topic = freshTopic();
    const bodyBase64 = Buffer.alloc(MIB, 0xfb).toString("base64");
    for (let i = 0; i < 4; i++) {
      const batch = [0, 1, 2].map((j) => ({ id: `m${i}-${j}`, partitionKey: `k${i}-${j}`, bodyBase64 }));
      await api.publish(topic, batch);
    }
    const seen: string[] = [];
    while (seen.length < 12) {
      const reply = await api.request<ReceiveReply>("POST", `topics/${topic}/groups/g/receive`, {
        json: { subscriber: "s1", maxMessages: 100 },
      });
      expect(reply.status, reply.text.slice(0, 600)).toBe(200);
      expect(Buffer.byteLength(reply.text)).toBeLessThanOrEqual(8 * MIB);
      expect(reply.json.deliveries.length).toBeGreaterThan(0);
      seen.push(...ids(reply.json.deliveries));
    }
    expect(new Set(seen).size).toBe(12);
    expect(seen).toHaveLength(12);
  });
});

describe("waiting", () => {
  test("waitMs 0 answers at once; waitMs ends after its time", async () => {
    const api = live.api("demo");
    const topic = freshTopic();
    const startMs = Date.now();
    await api.receive(topic, "g");
    expect(Date.now() - startMs).toBeLessThan(WAKE_WITHIN_MS);
    const waitStartMs = Date.now();
    expect((await api.receive(topic, "g", { waitMs: 600 })).deliveries).toEqual([]);
    const tookMs = Date.now() - waitStartMs;
    expect(tookMs).toBeGreaterThanOrEqual(590);
    expect(tookMs).toBeLessThan(600 + WAKE_WITHIN_MS);
  });

  test("a message that is there ends the wait before it began", async () => {
    const api = live.api("demo");
    const topic = freshTopic();
    await api.publish(topic, numbered(1, "k"));
    const startMs = Date.now();
    expect((await api.receive(topic, "g", { waitMs: 20_000 })).deliveries).toHaveLength(1);
    expect(Date.now() - startMs).toBeLessThan(WAKE_WITHIN_MS);
  });

  test("a publish wakes a waiting receive", async () => {
    const api = live.api("demo");
    const topic = freshTopic();
    await api.receive(topic, "g");
    for (let round = 0; round < 5; round++) {
      const waiting = api.receive(topic, "g", { waitMs: 20_000 });
      await untilClock(Date.now() + 100);
      await api.publish(topic, [{ id: `m${round}`, partitionKey: `k${round}`, body: 1 }]);
      const publishedAtMs = Date.now();
      expect(ids((await waiting).deliveries)).toEqual([`m${round}`]);
      expect(Date.now() - publishedAtMs).toBeLessThan(WAKE_WITHIN_MS);
    }
  });

  test("one publish wakes the groups that wait, each for itself", async () => {
    const api = live.api("demo");
    const topic = freshTopic();
    const waiting = ["a", "b", "c"].map((group) => api.receive(topic, group, { waitMs: 20_000 }));
    await untilClock(Date.now() + 200);
    await api.publish(topic, numbered(1, "k"));
    for (const reply of await Promise.all(waiting)) expect(ids(reply.deliveries)).toEqual(["m0"]);
  });

  test("a settlement wakes a receive that waits behind a strict lane", async () => {
    const api = live.api("demo");
    const topic = freshTopic();
    await api.putGroup(topic, "g", { maxInFlightPerPartition: 1 });
    await api.publish(topic, numbered(2, "k"));
    const first = only((await api.receive(topic, "g")).deliveries);
    const waiting = api.receive(topic, "g", { waitMs: 20_000 });
    await untilClock(Date.now() + 100);
    await api.ack(topic, "g", [first]);
    const ackedAtMs = Date.now();
    expect(ids((await waiting).deliveries)).toEqual(["m1"]);
    expect(Date.now() - ackedAtMs).toBeLessThan(WAKE_WITHIN_MS);
  });

  test("the end of a visibility timeout wakes a waiting receive", async () => {
    const api = live.api("demo");
    const topic = freshTopic();
    await api.publish(topic, numbered(1, "k"));
    const first = only((await api.receive(topic, "g", { visibilityTimeoutMs: 1000 })).deliveries);
    const again = only((await api.receive(topic, "g", { waitMs: 20_000 })).deliveries);
    expect(again).toMatchObject({ id: "m0", attempt: 2 });
    expect(Date.now()).toBeGreaterThanOrEqual(first.visibleUntil - 5);
    expect(Date.now() - first.visibleUntil).toBeLessThan(WAKE_WITHIN_MS);
  });

  test("the end of a backoff wakes a waiting receive", async () => {
    const api = live.api("demo");
    const topic = freshTopic();
    await api.publish(topic, numbered(1, "k"));
    const first = only((await api.receive(topic, "g")).deliveries);
    const nackedAtMs = Date.now();
    expect(await api.settleOne(topic, "g", { receipt: first.receipt, action: "nack", delayMs: 400 })).toBe(
      "ok",
    );
    only((await api.receive(topic, "g", { waitMs: 20_000 })).deliveries);
    expect(Date.now() - nackedAtMs).toBeGreaterThanOrEqual(395);
    expect(Date.now() - nackedAtMs).toBeLessThan(400 + WAKE_WITHIN_MS);
  });

  test("a receive whose connection broke does not swallow the next message", async () => {
    const api = live.api("demo");
    const topic = freshTopic();
    await breakOffReceive(topic, { subscriber: "gone", waitMs: 20_000 });
    await api.publish(topic, numbered(1, "k"));
    const { deliveries } = await api.receive(topic, "g", { subscriber: "alive", waitMs: 5000 });
    expect(only(deliveries)).toMatchObject({ id: "m0", attempt: 1 });
  });
});

/** Starts a receive of group `g`, lets it wait, and resets its connection; a mere close is not seen by the runtime. */
async function breakOffReceive(topic: string, input: Record<string, unknown>): Promise<void> {
  const { hostname, port } = new URL(live.url);
  const body = JSON.stringify(input);
  const socket = connect(Number(port), hostname);
  // The reset is what is wanted, so its own report is of no interest.
  socket.on("error", () => {});
  socket.write(
    [
      `POST /v1/tenants/demo/topics/${topic}/groups/g/receive HTTP/1.1`,
      `host: ${hostname}:${port}`,
      `authorization: Bearer ${tenantToken(SECRET, "demo")}`,
      "content-type: application/json",
      `content-length: ${Buffer.byteLength(body)}`,
      "",
      body,
    ].join("\r\n"),
  );
  await until("it waits", async () => {
    const reply = await live.api("demo").request<WireTopic>("GET", `topics/${topic}`);
    return reply.status === 200 && reply.json.groups[0]?.subscribers === 1;
  });
  await untilClock(Date.now() + 100);
  socket.resetAndDestroy();
  await untilClock(Date.now() + 200);
}

describe("settings of the group", () => {
  test("a visibility timeout in the request beats the group's", async () => {
    const api = live.api("demo");
    const topic = freshTopic();
    await api.putGroup(topic, "g", { visibilityTimeoutMs: 5000 });
    await api.publish(topic, numbered(2, "k"));
    const byGroup = only((await api.receive(topic, "g", { maxMessages: 1 })).deliveries);
    expect(Math.abs(byGroup.visibleUntil - Date.now() - 5000)).toBeLessThan(1000);
    const longest = { maxMessages: 1, visibilityTimeoutMs: 43_200_000 };
    const byRequest = only((await api.receive(topic, "g", longest)).deliveries);
    expect(Math.abs(byRequest.visibleUntil - Date.now() - 43_200_000)).toBeLessThan(1000);
  });

  test("a paused group gets nothing until it is resumed, which wakes it", async () => {
    const api = live.api("demo");
    const topic = freshTopic();
    await api.putGroup(topic, "g", { paused: true });
    await api.publish(topic, numbered(1, "k"));
    expect((await api.receive(topic, "g", { waitMs: 300 })).deliveries).toEqual([]);
    const waiting = api.receive(topic, "g", { waitMs: 20_000 });
    await untilClock(Date.now() + 100);
    await api.putGroup(topic, "g", { paused: false });
    const resumedAtMs = Date.now();
    expect(ids((await waiting).deliveries)).toEqual(["m0"]);
    expect(Date.now() - resumedAtMs).toBeLessThan(WAKE_WITHIN_MS);
  });

  test("startFrom latest skips what was there when the group was made", async () => {
    const api = live.api("demo");
    const topic = freshTopic();
    await api.publish(topic, numbered(3, "k", "old"));
    await api.putGroup(topic, "g", { startFrom: "latest" });
    await api.publish(topic, numbered(2, "k", "new"));
    expect(ids((await api.receive(topic, "g", { maxMessages: 100 })).deliveries)).toEqual(["new0", "new1"]);
    expect(await api.getTopic(topic)).toMatchObject({ groups: [{ group: "g", backlog: 2, inFlight: 2 }] });
  });
});

describe("refused", () => {
  const cases: [string, Record<string, unknown>, string][] = [
    ["no subscriber", {}, "subscriber"],
    ["an empty subscriber", { subscriber: "" }, "subscriber"],
    ["an upper-case subscriber", { subscriber: "S1" }, "subscriber"],
    ["a subscriber of 129", { subscriber: "s".repeat(129) }, "subscriber"],
    ["a subscriber that starts with a dot", { subscriber: ".s" }, "subscriber"],
    ["maxMessages 0", { subscriber: "s", maxMessages: 0 }, "maxMessages"],
    ["maxMessages 101", { subscriber: "s", maxMessages: 101 }, "maxMessages"],
    ["maxMessages 1.5", { subscriber: "s", maxMessages: 1.5 }, "maxMessages"],
    ["maxMessages as text", { subscriber: "s", maxMessages: "10" }, "maxMessages"],
    ["waitMs -1", { subscriber: "s", waitMs: -1 }, "waitMs"],
    ["waitMs 20001", { subscriber: "s", waitMs: 20_001 }, "waitMs"],
    ["visibilityTimeoutMs 999", { subscriber: "s", visibilityTimeoutMs: 999 }, "visibilityTimeoutMs"],
    [
      "visibilityTimeoutMs 43200001",
      { subscriber: "s", visibilityTimeoutMs: 43_200_001 },
      "visibilityTimeoutMs",
    ],
    ["visibilityTimeoutMs null", { subscriber: "s", visibilityTimeoutMs: null }, "visibilityTimeoutMs"],
    ["an unknown field", { subscriber: "s", maxMessage: 1 }, "maxMessage"],
  ];
  test.each(cases)("%s", async (_, json, path) => {
    const topic = freshTopic();
    const reply = await live.api("demo").request("POST", `topics/${topic}/groups/g/receive`, { json });
    expectProblem(reply, "invalid-request", path);
    expectProblem(await live.api("demo").request("GET", `topics/${topic}`), "not-found");
  });

  test("the longest subscriber and group names are accepted", async () => {
    const path = `topics/${"t".repeat(124)}/groups/${"g".repeat(128)}/receive`;
    const reply = await live.api("demo").request("POST", path, { json: { subscriber: "s".repeat(128) } });
    expect(reply.status, reply.text).toBe(200);
  });

  test("without the scope consume", async () => {
    const api = live.api("demo", tenantToken(SECRET, "demo", "publish admin"));
    const reply = await api.request("POST", `topics/${freshTopic()}/groups/g/receive`, {
      json: { subscriber: "s" },
    });
    expectProblem(reply, "forbidden");
  });
});
