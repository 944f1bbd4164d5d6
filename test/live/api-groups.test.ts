import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { Api } from "./api.ts";
import { freshTopic, type Live, numbered, only, SECRET, setup } from "./harness.ts";
import { expectProblem } from "./problem.ts";
import { tenantToken } from "./tokens.ts";

let live: Live;
let api: Api;
beforeAll(async () => {
  live = await setup();
  api = live.api("demo");
});
afterAll(() => live?.close());

const DEFAULTS = {
  visibilityTimeoutMs: 30_000,
  leaseDurationMs: 30_000,
  maxInFlightPerPartition: 10,
  maxAttempts: 3,
  retry: { initialBackoffMs: 1000, multiplier: 2, maxBackoffMs: 30_000 },
  deadLetters: true,
  startFrom: "earliest",
  paused: false,
};
const path = (topic: string, group = "g") => `topics/${topic}/groups/${group}`;

describe("PUT and GET", () => {
  test("an empty PUT makes a group with the defaults, and its topic", async () => {
    const topic = freshTopic();
    const put = await api.request("PUT", path(topic), { json: {} });
    expect(put.status, put.text).toBe(200);
    expect(put.json).toEqual({ ...DEFAULTS, createdBy: "admin" });
    const get = await api.request("GET", path(topic));
    expect(get.status).toBe(200);
    expect(get.json).toEqual(put.json);
    expect((await api.request<{ topics: string[] }>("GET", "topics")).json.topics).toContain(topic);
  });

  test("every setting is kept, and absent ones keep their value", async () => {
    const topic = freshTopic();
    const settings = {
      visibilityTimeoutMs: 1000,
      leaseDurationMs: 5000,
      maxInFlightPerPartition: 1,
      maxAttempts: 1000,
      retry: { initialBackoffMs: 0, multiplier: 1.5, maxBackoffMs: 10 },
      deadLetters: false,
      startFrom: "latest",
      paused: true,
    };
    expect(await api.putGroup(topic, "g", settings)).toEqual({ ...settings, createdBy: "admin" });
    const changed = await api.putGroup(topic, "g", { paused: false, retry: { maxBackoffMs: 20 } });
    const expected = {
      ...settings,
      paused: false,
      retry: { initialBackoffMs: 0, multiplier: 1.5, maxBackoffMs: 20 },
      createdBy: "admin",
    };
    expect(changed).toEqual(expected);
    expect((await api.request("GET", path(topic))).json).toEqual(expected);
  });

  test("startFrom counts only at creation", async () => {
    const topic = freshTopic();
    await api.publish(topic, numbered(1, "k"));
    await api.putGroup(topic, "g");
    await api.putGroup(topic, "g", { startFrom: "latest" });
    expect(only((await api.receive(topic, "g")).deliveries).id).toBe("m0");
  });

  test("a group that a receive made keeps saying so after a PUT", async () => {
    const topic = freshTopic();
    await api.receive(topic, "g");
    expect(await api.putGroup(topic, "g", { maxAttempts: 7 })).toEqual({
      ...DEFAULTS,
      maxAttempts: 7,
      createdBy: "receive",
    });
  });

  test("an unknown group or topic is not found", async () => {
    const topic = freshTopic();
    expectProblem(await api.request("GET", path(topic)), "not-found");
    await api.publish(topic, numbered(1, "k"));
    expectProblem(await api.request("GET", path(topic, "nobody")), "not-found");
  });
});

describe("limits", () => {
  const accepted: Record<string, unknown>[] = [
    { visibilityTimeoutMs: 1000 },
    { visibilityTimeoutMs: 43_200_000 },
    { leaseDurationMs: 1000 },
    { maxInFlightPerPartition: 1 },
    { maxInFlightPerPartition: 1000 },
    { maxAttempts: 1 },
    { maxAttempts: 1000 },
    { retry: { initialBackoffMs: 0 } },
    { retry: { initialBackoffMs: 0, maxBackoffMs: 0 } },
    { retry: { initialBackoffMs: 100, maxBackoffMs: 99 } },
    { retry: { multiplier: 1 } },
    { retry: {} },
  ];
  test.each(accepted)("accepted: %j", async (json) => {
    const reply = await api.request("PUT", path(freshTopic()), { json });
    expect(reply.status, reply.text).toBe(200);
    expect(reply.json).toMatchObject(json);
  });

  const refused: [Record<string, unknown>, string][] = [
    [{ visibilityTimeoutMs: 999 }, "visibilityTimeoutMs"],
    [{ visibilityTimeoutMs: 43_200_001 }, "visibilityTimeoutMs"],
    [{ visibilityTimeoutMs: 1000.5 }, "visibilityTimeoutMs"],
    [{ leaseDurationMs: 999 }, "leaseDurationMs"],
    [{ leaseDurationMs: 1e300 }, "leaseDurationMs"],
    [{ maxInFlightPerPartition: 0 }, "maxInFlightPerPartition"],
    [{ maxInFlightPerPartition: 1001 }, "maxInFlightPerPartition"],
    [{ maxAttempts: 0 }, "maxAttempts"],
    [{ maxAttempts: 1001 }, "maxAttempts"],
    [{ maxAttempts: "3" }, "maxAttempts"],
    [{ retry: { initialBackoffMs: -1 } }, "retry.initialBackoffMs"],
    [{ retry: { maxBackoffMs: -1 } }, "retry.maxBackoffMs"],
    [{ retry: { multiplier: 0.9 } }, "retry.multiplier"],
    [{ retry: { multiplyer: 2 } }, "retry.multiplyer"],
    [{ retry: 5 }, "retry"],
    [{ retry: null }, "retry"],
    [{ deadLetters: "yes" }, "deadLetters"],
    [{ deadLetters: 1 }, "deadLetters"],
    [{ startFrom: "middle" }, "startFrom"],
    [{ paused: null }, "paused"],
    [{ createdBy: "admin" }, "createdBy"],
    [{ visibilityTimeout: 1000 }, "visibilityTimeout"],
  ];
  test.each(refused)("refused: %j", async (json, field) => {
    const topic = freshTopic();
    expectProblem(await api.request("PUT", path(topic), { json }), "invalid-request", field);
    expectProblem(await api.request("GET", path(topic)), "not-found");
    expectProblem(await api.request("GET", `topics/${topic}`), "not-found");
  });

  test("names: 128 characters, lower case", async () => {
    const topic = freshTopic();
    expect((await api.request("PUT", path(topic, "g".repeat(128)), { json: {} })).status).toBe(200);
    for (const group of ["g".repeat(129), "G", ".g", "-g", "g%2Fh", "g%C3%A9", "g%20", "%00"]) {
      expectProblem(await api.request("PUT", path(topic, group), { json: {} }), "invalid-request", "group");
    }
  });

  test("100 groups a topic, no more", async () => {
    const topic = freshTopic();
    for (let i = 0; i < 100; i++) await api.putGroup(topic, `g${i}`);
    expectProblem(await api.request("PUT", path(topic, "one-more"), { json: {} }), "rate-limited");
    const receive = { json: { subscriber: "s1" } };
    expectProblem(await api.request("POST", `${path(topic, "one-more")}/receive`, receive), "rate-limited");
    await api.putGroup(topic, "g99", { maxAttempts: 9 });
    expect((await api.getTopic(topic)).groups).toHaveLength(100);
  });
});

describe("DELETE", () => {
  test("forgets the group: 404 afterwards, also to a receive, until a PUT makes it anew", async () => {
    const topic = freshTopic();
    await api.putGroup(topic, "g", { maxAttempts: 9 });
    const deleted = await api.request("DELETE", path(topic));
    expect(deleted.status, deleted.text).toBe(204);
    expect(deleted.text).toBe("");
    expectProblem(await api.request("GET", path(topic)), "not-found");
    expectProblem(await api.request("DELETE", path(topic)), "not-found");
    const receive = await api.request("POST", `${path(topic)}/receive`, { json: { subscriber: "s1" } });
    expectProblem(receive, "not-found");
    expect((await api.getTopic(topic)).groups).toEqual([]);
    expect(await api.putGroup(topic, "g")).toEqual({ ...DEFAULTS, createdBy: "admin" });
  });

  test("a group made anew starts from the beginning; receipts of the old one are invalid or stale", async () => {
    const topic = freshTopic();
    await api.publish(topic, numbered(2, "k"));
    const { deliveries } = await api.receive(topic, "g");
    await api.ack(topic, "g", deliveries.slice(0, 1));
    expect((await api.request("DELETE", `${path(topic)}?force=true`)).status).toBe(204);
    await api.putGroup(topic, "g");
    const old = deliveries[1]?.receipt ?? "";
    expect(["invalid", "stale"]).toContain(await api.settleOne(topic, "g", { receipt: old, action: "ack" }));
    const anew = await api.receive(topic, "g");
    expect(anew.deliveries.map(({ id, attempt }) => [id, attempt])).toEqual([
      ["m0", 1],
      ["m1", 1],
    ]);
  });

  test("is a conflict while the group has live subscribers, unless forced", async () => {
    const topic = freshTopic();
    await api.receive(topic, "g");
    expectProblem(await api.request("DELETE", path(topic)), "conflict");
    expectProblem(await api.request("DELETE", `${path(topic)}?force=false`), "conflict");
    expectProblem(await api.request("DELETE", `${path(topic)}?force=maybe`), "invalid-request", "force");
    expectProblem(await api.request("DELETE", `${path(topic)}?forced=true`), "invalid-request", "forced");
    expect((await api.request("GET", path(topic))).status).toBe(200);
    expect((await api.request("DELETE", `${path(topic)}?force=true`)).status).toBe(204);
  });

  test("needs no force once the subscribers have left", async () => {
    const topic = freshTopic();
    await api.receive(topic, "g");
    await api.request("DELETE", `${path(topic)}/subscribers/s1`);
    expect((await api.request("DELETE", path(topic))).status).toBe(204);
  });

  test("ends a waiting receive", async () => {
    const topic = freshTopic();
    const waiting = api.request("POST", `${path(topic)}/receive`, {
      json: { subscriber: "s1", waitMs: 20_000 },
    });
    await api.receive(topic, "g", { subscriber: "s2" });
    const startMs = Date.now();
    expect((await api.request("DELETE", `${path(topic)}?force=true`)).status).toBe(204);
    await waiting;
    expect(Date.now() - startMs).toBeLessThan(3000);
  });
});

test("scopes: PUT and DELETE need admin, GET consume or admin", async () => {
  const topic = freshTopic();
  await api.putGroup(topic, "g");
  const as = (scope: string) => live.api("demo", tenantToken(SECRET, "demo", scope));
  expect((await as("consume").request("GET", path(topic))).status).toBe(200);
  expect((await as("admin").request("GET", path(topic))).status).toBe(200);
  expectProblem(await as("publish").request("GET", path(topic)), "forbidden");
  expectProblem(await as("publish consume").request("PUT", path(topic), { json: {} }), "forbidden");
  expectProblem(await as("publish consume").request("DELETE", path(topic)), "forbidden");
});
