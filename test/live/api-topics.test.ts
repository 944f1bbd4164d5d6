import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { Api } from "./api.ts";
import { freshTopic, type Live, numbered, SECRET, setup, until } from "./harness.ts";
import { expectProblem } from "./problem.ts";
import { tenantToken } from "./tokens.ts";

const DAY_MS = 24 * 3600 * 1000;

let live: Live;
let api: Api;
beforeAll(async () => {
  live = await setup();
  api = live.api("demo");
});
afterAll(() => live?.close());

describe("PUT", () => {
  test("makes the topic with the defaults and answers the whole settings", async () => {
    const topic = freshTopic();
    const reply = await api.request("PUT", `topics/${topic}`, { json: {} });
    expect(reply.status, reply.text).toBe(200);
    expect(reply.json).toMatchObject({ retentionMs: 3_600_000, maxRetentionMs: 7 * DAY_MS });
    expect((await api.request<{ topics: string[] }>("GET", "topics")).json.topics).toContain(topic);
  });

  test("absent settings keep their value", async () => {
    const topic = freshTopic();
    await api.putTopic(topic, { retentionMs: 1000, maxRetentionMs: 2000 });
    expect(await api.putTopic(topic, { maxRetentionMs: 3000 })).toMatchObject({
      retentionMs: 1000,
      maxRetentionMs: 3000,
    });
    expect(await api.putTopic(topic, { retentionMs: 1500 })).toMatchObject({
      retentionMs: 1500,
      maxRetentionMs: 3000,
    });
  });

  test("maxRetentionMs is never the smaller of the two", async () => {
    const topic = freshTopic();
    const json = { retentionMs: 2000, maxRetentionMs: 1999 };
    expectProblem(await api.request("PUT", `topics/${topic}`, { json }), "invalid-request", "maxRetentionMs");
    expectProblem(await api.request("GET", `topics/${topic}`), "not-found");
    const longerThanDefault = { json: { retentionMs: 8 * DAY_MS } };
    expectProblem(await api.request("PUT", `topics/${topic}`, longerThanDefault), "invalid-request");
    expectProblem(await api.request("GET", `topics/${topic}`), "not-found");
    await api.putTopic(topic, { retentionMs: 2000, maxRetentionMs: 2000 });
  });

  const refused: [Record<string, unknown>, string][] = [
    [{ retentionMs: 999 }, "retentionMs"],
    [{ retentionMs: 1000.5 }, "retentionMs"],
    [{ retentionMs: "1000" }, "retentionMs"],
    [{ maxRetentionMs: 999 }, "maxRetentionMs"],
    [{ maxRetentionMs: 1e300 }, "maxRetentionMs"],
    [{ retention: 1000 }, "retention"],
  ];
  test.each(refused)("refuses %j", async (json, field) => {
    const topic = freshTopic();
    expectProblem(await api.request("PUT", `topics/${topic}`, { json }), "invalid-request", field);
    expectProblem(await api.request("GET", `topics/${topic}`), "not-found");
  });

  test("names: 124 characters, lower case", async () => {
    expect((await api.request("PUT", `topics/${"t".repeat(124)}`, { json: {} })).status).toBe(200);
    for (const topic of ["t".repeat(125), "T", ".t", "_t", "t%2Fu", "t%C3%A9", "t%20", "%00", "t*"]) {
      expectProblem(await api.request("PUT", `topics/${topic}`, { json: {} }), "invalid-request", "topic");
    }
  });
});

describe("GET topic", () => {
  test("an unknown topic is not found", async () => {
    expectProblem(await api.request("GET", `topics/${freshTopic()}`), "not-found");
  });

  test("counts messages, partitions and what each group has left", async () => {
    const topic = freshTopic();
    const beforeMs = Date.now();
    await api.publish(topic, [...numbered(3, "k1", "a"), ...numbered(2, "k2", "b")]);
    const afterMs = Date.now();
    const { deliveries } = await api.receive(topic, "g", { maxMessages: 5 });
    await api.ack(topic, "g", deliveries.slice(0, 2));
    await api.putGroup(topic, "idle");
    const view = await api.getTopic(topic);
    expect(view).toMatchObject({ topic, messages: 5, partitions: 2 });
    expect(view).not.toHaveProperty("atLeast");
    expect(view.oldestPublishedAt).toBeGreaterThanOrEqual(beforeMs);
    expect(view.oldestPublishedAt).toBeLessThanOrEqual(afterMs);
    const busy = view.groups.find((group) => group.group === "g");
    const idle = view.groups.find((group) => group.group === "idle");
    expect(view.groups).toHaveLength(2);
    expect(busy).toMatchObject({ backlog: 3, inFlight: 3, subscribers: 1, expired: 0, dropped: 0 });
    expect(idle).toMatchObject({ backlog: 5, inFlight: 0, subscribers: 0, expired: 0, dropped: 0 });
    expect(idle?.oldestUnsettledAt).toBe(view.oldestPublishedAt);
    expect(busy?.oldestUnsettledAt).toBeGreaterThanOrEqual(beforeMs);
  });

  test("an empty topic has no oldest", async () => {
    const topic = freshTopic();
    await api.putTopic(topic, {});
    await api.putGroup(topic, "g");
    expect(await api.getTopic(topic)).toMatchObject({
      topic,
      messages: 0,
      partitions: 0,
      oldestPublishedAt: null,
      groups: [{ group: "g", backlog: 0, inFlight: 0, subscribers: 0, oldestUnsettledAt: null }],
    });
  });

  test("counts are exact to 10,000 and then a lower bound that says so", async () => {
    const topic = freshTopic();
    await api.putGroup(topic, "g");
    for (let i = 0; i < 100; i++) await api.publish(topic, numbered(100, `k${i % 7}`, `${i}-`));
    const exact = await api.getTopic(topic);
    expect(exact).toMatchObject({ messages: 10_000, partitions: 7, groups: [{ backlog: 10_000 }] });
    expect(exact).not.toHaveProperty("atLeast");
    expect(exact.groups[0]).not.toHaveProperty("atLeast");
    await api.publish(topic, numbered(1, "k0", "more"));
    const more = await api.getTopic(topic);
    expect(more).toMatchObject({ atLeast: true, groups: [{ atLeast: true }] });
    for (const count of [more.messages, more.groups[0]?.backlog]) {
      expect(count).toBeGreaterThanOrEqual(10_000);
      expect(count).toBeLessThanOrEqual(10_001);
    }
  });
});

describe("GET topics", () => {
  test("lists the tenant's topics, dead-letter topics included, and no one else's", async () => {
    const acme = live.api("acme");
    await acme.putTopic("only-acme", {});
    await acme.publish("orders", numbered(1, "k"));
    const { deliveries } = await acme.receive("orders", "g");
    await acme.settle("orders", "g", [{ receipt: deliveries[0]?.receipt ?? "", action: "reject" }]);
    const topics = await until("the dead-letter topic", async () => {
      const reply = await acme.request<{ topics: string[] }>("GET", "topics");
      return reply.json.topics.includes("orders_dlq") && reply.json.topics;
    });
    expect([...topics].sort()).toEqual(["only-acme", "orders", "orders_dlq"]);
    expect((await api.request<{ topics: string[] }>("GET", "topics")).json.topics).not.toContain("only-acme");
  });

  test("a tenant without topics has none", async () => {
    expect((await live.api("globex").request("GET", "topics")).json).toEqual({ topics: [] });
  });

  test("query parameters that do not exist are refused", async () => {
    expectProblem(await api.request("GET", "topics?limit=1"), "invalid-request", "limit");
  });
});

test("scopes: PUT needs admin, GET consume or admin", async () => {
  const topic = freshTopic();
  await api.putTopic(topic, {});
  const as = (scope: string) => live.api("demo", tenantToken(SECRET, "demo", scope));
  for (const path of [`topics/${topic}`, "topics"]) {
    expect((await as("consume").request("GET", path)).status).toBe(200);
    expect((await as("admin").request("GET", path)).status).toBe(200);
    expectProblem(await as("publish").request("GET", path), "forbidden");
  }
  expectProblem(await as("publish consume").request("PUT", `topics/${topic}`, { json: {} }), "forbidden");
});
