import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { Api } from "./api.ts";
import { freshTopic, ids, type Live, numbered, only, SECRET, setup, until, untilClock } from "./harness.ts";
import { expectProblem } from "./problem.ts";
import { tenantToken } from "./tokens.ts";

let live: Live;
let api: Api;
beforeAll(async () => {
  live = await setup();
  api = live.api("demo");
});
afterAll(() => live?.close());

/** One published message, delivered to group `g`. */
async function delivered(settings: Record<string, unknown> = {}) {
  const topic = freshTopic();
  await api.putGroup(topic, "g", settings);
  await api.publish(topic, numbered(1, "k"));
  const delivery = only((await api.receive(topic, "g")).deliveries);
  return { topic, delivery, receipt: delivery.receipt };
}

describe("ack", () => {
  test("is ok once and then settled, and the message does not come again", async () => {
    const { topic, receipt } = await delivered();
    expect(await api.settle(topic, "g", [{ receipt, action: "ack" }])).toEqual([{ receipt, status: "ok" }]);
    expect(await api.settle(topic, "g", [{ receipt, action: "ack" }])).toEqual([
      { receipt, status: "settled" },
    ]);
    expect((await api.receive(topic, "g")).deliveries).toEqual([]);
    expect(await api.getTopic(topic)).toMatchObject({ groups: [{ backlog: 0, inFlight: 0 }] });
  });

  test("the same receipt twice in one request: ok, then settled", async () => {
    const { topic, receipt } = await delivered();
    const twice = [
      { receipt, action: "ack" },
      { receipt, action: "ack" },
    ];
    expect((await api.settle(topic, "g", twice)).map((result) => result.status)).toEqual(["ok", "settled"]);
  });

  test("works after the visibility timeout while no later delivery was made", async () => {
    const topic = freshTopic();
    await api.publish(topic, numbered(1, "k"));
    const { receipt, visibleUntil } = only(
      (await api.receive(topic, "g", { visibilityTimeoutMs: 1000 })).deliveries,
    );
    await untilClock(visibleUntil + 150);
    expect(await api.settleOne(topic, "g", { receipt, action: "ack" })).toBe("ok");
    expect((await api.receive(topic, "g")).deliveries).toEqual([]);
  });

  test("need not come from the subscriber that received", async () => {
    const { topic, receipt } = await delivered();
    expect(await api.settle(topic, "g", [{ receipt, action: "ack" }], "someone-else")).toEqual([
      { receipt, status: "ok" },
    ]);
  });
});

describe("nack", () => {
  test("brings the message again after its delay, as the next attempt", async () => {
    const { topic, receipt } = await delivered();
    const sentAtMs = Date.now();
    const results = await api.settle(topic, "g", [{ receipt, action: "nack", reason: "busy", delayMs: 500 }]);
    expect(results).toEqual([{ receipt, status: "ok" }]);
    expect((await api.receive(topic, "g")).deliveries).toEqual([]);
    const again = only((await api.receive(topic, "g", { waitMs: 5000 })).deliveries);
    expect(again).toMatchObject({ id: "m0", attempt: 2 });
    expect(again.receipt).not.toBe(receipt);
    expect(Date.now() - sentAtMs).toBeGreaterThanOrEqual(495);
  });

  test("delayMs 0 brings it again at once", async () => {
    const { topic, receipt } = await delivered();
    await api.settle(topic, "g", [{ receipt, action: "nack", delayMs: 0 }]);
    expect(only((await api.receive(topic, "g")).deliveries).attempt).toBe(2);
  });

  test("without a delay waits the group's backoff, which grows up to its maximum", async () => {
    const retry = { initialBackoffMs: 200, multiplier: 3, maxBackoffMs: 500 };
    const { topic, delivery } = await delivered({ maxAttempts: 10, retry });
    let { receipt } = delivery;
    for (const [attempt, backoffMs] of [
      [2, 200],
      [3, 500],
      [4, 500],
    ] as const) {
      const nackedAtMs = Date.now();
      await api.settle(topic, "g", [{ receipt, action: "nack" }]);
      const again = only((await api.receive(topic, "g", { waitMs: 5000 })).deliveries);
      const tookMs = Date.now() - nackedAtMs;
      expect(again.attempt).toBe(attempt);
      expect(tookMs).toBeGreaterThanOrEqual(backoffMs - 5);
      expect(tookMs).toBeLessThan(backoffMs + 700);
      receipt = again.receipt;
    }
  });

  test("spending the last attempt dead-letters, and says so", async () => {
    const { topic, receipt } = await delivered({ maxAttempts: 1 });
    const results = await api.settle(topic, "g", [{ receipt, action: "nack", reason: "no such customer" }]);
    expect(results).toEqual([{ receipt, status: "ok", deadLettered: true }]);
    const dead = await until("the dead letter", async () => (await api.deadLetters(topic))[0]);
    expect(dead).toMatchObject({
      id: "m0",
      partitionKey: "k",
      group: "g",
      reason: "no such customer",
      attempts: 1,
    });
    expect((await api.receive(topic, "g")).deliveries).toEqual([]);
  });

  test("with dead letters off the message is dropped and counted", async () => {
    const { topic, receipt } = await delivered({ maxAttempts: 1, deadLetters: false });
    expect(await api.settle(topic, "g", [{ receipt, action: "nack" }])).toEqual([{ receipt, status: "ok" }]);
    expect((await api.receive(topic, "g", { waitMs: 200 })).deliveries).toEqual([]);
    expect(await api.getTopic(topic)).toMatchObject({ groups: [{ backlog: 0, inFlight: 0, dropped: 1 }] });
    expect(await api.deadLetters(topic)).toEqual([]);
  });
});

describe("postpone", () => {
  test("is no failed attempt: the next delivery is attempt 1 again, after the delay", async () => {
    const { topic, receipt } = await delivered({ maxAttempts: 2 });
    await api.settle(topic, "g", [{ receipt, action: "nack", delayMs: 0 }]);
    const second = only((await api.receive(topic, "g")).deliveries);
    expect(second.attempt).toBe(2);
    const sentAtMs = Date.now();
    const postponed = { receipt: second.receipt, action: "postpone", delayMs: 400 };
    expect(await api.settleOne(topic, "g", postponed)).toBe("ok");
    expect((await api.receive(topic, "g")).deliveries).toEqual([]);
    const third = only((await api.receive(topic, "g", { waitMs: 5000 })).deliveries);
    expect(third.attempt).toBe(1);
    expect(Date.now() - sentAtMs).toBeGreaterThanOrEqual(395);
  });
});

describe("reject", () => {
  test("dead-letters at once with its reason", async () => {
    const { topic, receipt } = await delivered();
    const reason = "schema 4 is not supported";
    expect(await api.settle(topic, "g", [{ receipt, action: "reject", reason }])).toEqual([
      { receipt, status: "ok", deadLettered: true },
    ]);
    const dead = await until("the dead letter", async () => (await api.deadLetters(topic))[0]);
    expect(dead).toMatchObject({ id: "m0", group: "g", reason, attempts: 1 });
    expect(await api.settleOne(topic, "g", { receipt, action: "ack" })).toBe("settled");
  });

  test("with dead letters off drops and counts", async () => {
    const { topic, receipt } = await delivered({ deadLetters: false });
    expect(await api.settle(topic, "g", [{ receipt, action: "reject" }])).toEqual([
      { receipt, status: "ok" },
    ]);
    expect(await api.getTopic(topic)).toMatchObject({ groups: [{ backlog: 0, inFlight: 0, dropped: 1 }] });
    expect(await api.deadLetters(topic)).toEqual([]);
  });

  test("a reason is cut to 1,000 characters", async () => {
    const { topic, receipt } = await delivered();
    await api.settle(topic, "g", [{ receipt, action: "reject", reason: "r".repeat(1500) }]);
    const dead = await until("the dead letter", async () => (await api.deadLetters(topic))[0]);
    expect(dead.reason).toBe("r".repeat(1000));
  });

  test("100 rejects in one request all arrive, once", async () => {
    const topic = freshTopic();
    await api.putGroup(topic, "g", { maxInFlightPerPartition: 100 });
    await api.publish(topic, numbered(100, "k"));
    const { deliveries } = await api.receive(topic, "g", { maxMessages: 100 });
    const results = await api.settle(
      topic,
      "g",
      deliveries.map(({ receipt }) => ({ receipt, action: "reject", reason: "all" })),
    );
    expect(results.every((result) => result.status === "ok" && result.deadLettered === true)).toBe(true);
    await until("100 dead letters", async () => (await api.deadLetters(topic)).length >= 100);
    expect(new Set(ids(await api.deadLetters(topic))).size).toBe(100);
    expect(await api.deadLetters(topic)).toHaveLength(100);
  });
});

describe("extend", () => {
  test("keeps the message from coming again, and the receipt stays good", async () => {
    const topic = freshTopic();
    await api.publish(topic, numbered(1, "k"));
    const { receipt, visibleUntil } = only(
      (await api.receive(topic, "g", { visibilityTimeoutMs: 1000 })).deliveries,
    );
    const extend = { receipt, action: "extend", visibilityTimeoutMs: 60_000 };
    expect(await api.settle(topic, "g", [extend])).toEqual([{ receipt, status: "ok" }]);
    await untilClock(visibleUntil + 200);
    expect((await api.receive(topic, "g", { waitMs: 200 })).deliveries).toEqual([]);
    expect(await api.settleOne(topic, "g", { receipt, action: "ack" })).toBe("ok");
  });

  test("can also shorten", async () => {
    const { topic, receipt } = await delivered();
    await api.settle(topic, "g", [{ receipt, action: "extend", visibilityTimeoutMs: 1000 }]);
    expect(only((await api.receive(topic, "g", { waitMs: 5000 })).deliveries).attempt).toBe(2);
  });
});

describe("statuses", () => {
  test("invalid: made up, of another tenant, topic or group", async () => {
    const { topic, receipt } = await delivered();
    const otherTopic = freshTopic();
    await api.putGroup(otherTopic, "g");
    await api.putGroup(topic, "other");
    await live.api("acme").putGroup(topic, "g");
    const ack = { receipt, action: "ack" };
    expect(await api.settleOne(otherTopic, "g", ack)).toBe("invalid");
    expect(await api.settleOne(topic, "other", ack)).toBe("invalid");
    expect(await live.api("acme").settleOne(topic, "g", ack)).toBe("invalid");
    const flipped = receipt.slice(0, -1) + (receipt.endsWith("a") ? "b" : "a");
    for (const madeUp of ["x", "🚚", "0", flipped.slice(0, 5), "a".repeat(300), "__proto__", "1.2.3", "{}"]) {
      expect(await api.settleOne(topic, "g", { receipt: madeUp, action: "ack" }), madeUp).toBe("invalid");
    }
    expect(["invalid", "stale"]).toContain(
      await api.settleOne(topic, "g", { receipt: flipped, action: "ack" }),
    );
    expect(await api.settleOne(topic, "g", ack)).toBe("ok");
  });

  test("stale: after a later delivery", async () => {
    const { topic, receipt } = await delivered();
    await api.settle(topic, "g", [{ receipt, action: "nack", delayMs: 0 }]);
    const second = only((await api.receive(topic, "g")).deliveries);
    for (const action of ["ack", "nack", "reject"]) {
      expect(await api.settleOne(topic, "g", { receipt, action }), action).toBe("stale");
    }
    expect(await api.settleOne(topic, "g", { receipt, action: "postpone", delayMs: 1 })).toBe("stale");
    expect(await api.settleOne(topic, "g", { receipt, action: "extend", visibilityTimeoutMs: 1000 })).toBe(
      "stale",
    );
    expect(await api.settleOne(topic, "g", { receipt: second.receipt, action: "ack" })).toBe("ok");
  });

  test("a mixed batch: results in order, one item's fate does not touch another's", async () => {
    const topic = freshTopic();
    await api.putGroup(topic, "g", { maxAttempts: 2 });
    await api.publish(topic, numbered(6, "k"));
    const { deliveries } = await api.receive(topic, "g");
    const [a, b, c, d, e, f] = deliveries.map((delivery) => delivery.receipt) as [
      string,
      string,
      string,
      string,
      string,
      string,
    ];
    const results = await api.settle(topic, "g", [
      { receipt: f, action: "extend", visibilityTimeoutMs: 50_000 },
      { receipt: "made-up", action: "ack" },
      { receipt: a, action: "ack" },
      { receipt: b, action: "nack", reason: "later", delayMs: 60_000 },
      { receipt: a, action: "nack" },
      { receipt: c, action: "reject", reason: "never" },
      { receipt: d, action: "postpone", delayMs: 60_000 },
      { receipt: e, action: "ack" },
    ]);
    expect(results).toEqual([
      { receipt: f, status: "ok" },
      { receipt: "made-up", status: "invalid" },
      { receipt: a, status: "ok" },
      { receipt: b, status: "ok" },
      { receipt: a, status: "settled" },
      { receipt: c, status: "ok", deadLettered: true },
      { receipt: d, status: "ok" },
      { receipt: e, status: "ok" },
    ]);
    await until("three left", async () => (await api.getTopic(topic)).groups[0]?.backlog === 3);
  });
});

describe("refused", () => {
  const one = { receipt: "r", action: "ack" };
  const cases: [string, unknown, string][] = [
    ["no settlements", {}, "settlements"],
    ["an empty list", { settlements: [] }, "settlements"],
    ["101 settlements", { settlements: Array(101).fill(one) }, "settlements"],
    ["settlements that are no list", { settlements: one }, "settlements"],
    ["an unknown action", { settlements: [one, { receipt: "r", action: "burn" }] }, "settlements[1].action"],
    ["no action", { settlements: [{ receipt: "r" }] }, "settlements[0].action"],
    ["no receipt", { settlements: [{ action: "ack" }] }, "settlements[0].receipt"],
    [
      "a receipt that is a number",
      { settlements: [{ receipt: 1, action: "ack" }] },
      "settlements[0].receipt",
    ],
    ["an ack with a delay", { settlements: [{ ...one, delayMs: 1 }] }, "settlements[0].delayMs"],
    [
      "a reject with a delay",
      { settlements: [{ receipt: "r", action: "reject", delayMs: 1 }] },
      "settlements[0].delayMs",
    ],
    [
      "a postpone without delay",
      { settlements: [{ receipt: "r", action: "postpone" }] },
      "settlements[0].delayMs",
    ],
    [
      "a postpone over 7 days",
      { settlements: [{ receipt: "r", action: "postpone", delayMs: 604_800_001 }] },
      "settlements[0].delayMs",
    ],
    [
      "a nack with a negative delay",
      { settlements: [{ receipt: "r", action: "nack", delayMs: -1 }] },
      "settlements[0].delayMs",
    ],
    [
      "a nack whose reason is no text",
      { settlements: [{ receipt: "r", action: "nack", reason: 5 }] },
      "settlements[0].reason",
    ],
    [
      "an extend without timeout",
      { settlements: [{ receipt: "r", action: "extend" }] },
      "settlements[0].visibilityTimeoutMs",
    ],
    [
      "an extend of 999",
      { settlements: [{ receipt: "r", action: "extend", visibilityTimeoutMs: 999 }] },
      "settlements[0].visibilityTimeoutMs",
    ],
    [
      "an extend of 43200001",
      { settlements: [{ receipt: "r", action: "extend", visibilityTimeoutMs: 43_200_001 }] },
      "settlements[0].visibilityTimeoutMs",
    ],
    ["an unknown field", { settlements: [one], subscribr: "s" }, "subscribr"],
    ["a bad subscriber", { settlements: [one], subscriber: "Not Good" }, "subscriber"],
  ];
  test.each(cases)("%s", async (_, json, path) => {
    const reply = await api.request("POST", `topics/${freshTopic()}/groups/g/settle`, { json });
    expectProblem(reply, "invalid-request", path);
  });

  test("a bad item settles none of the request", async () => {
    const { topic, receipt } = await delivered();
    const json = { settlements: [{ receipt, action: "ack" }, { receipt }] };
    const reply = await api.request("POST", `topics/${topic}/groups/g/settle`, { json });
    expectProblem(reply, "invalid-request", "settlements[1].action");
    expect(await api.settleOne(topic, "g", { receipt, action: "ack" })).toBe("ok");
  });

  test("100 settlements are accepted", async () => {
    const topic = freshTopic();
    await api.putGroup(topic, "g");
    const settlements = Array.from({ length: 100 }, (_, i) => ({ receipt: `r${i}`, action: "ack" }));
    const results = await api.settle(topic, "g", settlements);
    expect(results).toEqual(settlements.map(({ receipt }) => ({ receipt, status: "invalid" })));
  });

  test("without the scope consume", async () => {
    const limited = live.api("demo", tenantToken(SECRET, "demo", "publish admin"));
    const json = { settlements: [one] };
    expectProblem(
      await limited.request("POST", `topics/${freshTopic()}/groups/g/settle`, { json }),
      "forbidden",
    );
  });
});
