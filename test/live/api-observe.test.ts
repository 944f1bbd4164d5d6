import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { z } from "zod";
import { overviewReply, subscribersReply } from "../../src/protocol/overview.ts";
import type { Api } from "./api.ts";
import { freshTopic, ids, type Live, numbered, only, SECRET, setup, until } from "./harness.ts";
import { expectProblem } from "./problem.ts";
import { tenantToken } from "./tokens.ts";
import type { WireMessage } from "./wire.ts";

type Overview = z.output<typeof overviewReply>;
type MessagePage = { messages: (WireMessage & Record<string, unknown>)[]; next: number | null };

let live: Live;
let api: Api;
beforeAll(async () => {
  live = await setup();
  api = live.api("demo");
});
afterAll(() => live?.close());

/** The reply must be what the schema says, and nothing else. */
async function overview(of: Api, query = ""): Promise<Overview> {
  const reply = await of.request<Overview>("GET", `overview${query}`);
  expect(reply.status, reply.text).toBe(200);
  return overviewReply.parse(reply.json);
}

async function subscribersOf(topic: string, group: string) {
  const reply = await api.request("GET", `topics/${topic}/groups/${group}/subscribers`);
  expect(reply.status, reply.text).toBe(200);
  return subscribersReply.parse(reply.json);
}

/** The topic's figures, once they are as young as the test needs them. */
function counted(topic: string, sinceMs: number): Promise<Overview["topics"][number]> {
  return until(`figures of ${topic}`, async () => {
    const { topics } = await overview(api);
    return topics.find((each) => each.topic === topic && each.takenAt >= sinceMs);
  });
}

describe("GET overview", () => {
  test("a tenant without topics has none", async () => {
    expect(await overview(live.api("globex"))).toEqual({ topics: [], next: null });
  });

  test("topics with their groups, as GET topic has them", async () => {
    const topic = freshTopic("orders");
    await api.publish(topic, [...numbered(3, "k1", "a"), ...numbered(2, "k2", "b")]);
    const { deliveries } = await api.receive(topic, "g", { maxMessages: 5 });
    await api.ack(topic, "g", deliveries.slice(0, 1));
    await api.settleOne(topic, "g", { receipt: deliveries[1]?.receipt ?? "", action: "reject" });
    await api.putGroup(topic, "idle", { paused: true });
    await until("the dead letter", async () => (await api.deadLetters(topic)).length === 1);
    const sinceMs = Date.now();
    const figures = await counted(topic, sinceMs);
    const { groups, messages, oldestPublishedAt } = await api.getTopic(topic);
    expect(figures).toEqual({
      topic,
      messages,
      oldestPublishedAt,
      deadLetters: 1,
      takenAt: figures.takenAt,
      groups: groups.map((group) => ({ ...group, paused: group.group === "idle" })),
    });
    expect(groups.map(({ group, backlog }) => `${group} ${backlog}`)).toEqual(["g 3", "idle 5"]);
    const { topics } = await overview(api);
    expect(topics.map((each) => each.topic)).not.toContain(`${topic}_dlq`);
  });

  test("within the interval everybody gets the same snapshot; a deleted group is gone at once", async () => {
    const topic = freshTopic();
    await api.publish(topic, numbered(1, "k"));
    await api.putGroup(topic, "g");
    const first = await counted(topic, Date.now());
    const asked = await Promise.all(Array.from({ length: 10 }, () => overview(api)));
    const times = asked.flatMap(({ topics }) => topics.filter((each) => each.topic === topic));
    expect(times).toHaveLength(10);
    // A busy machine may take longer than the interval: then there are two.
    expect(new Set(times.map(({ takenAt }) => takenAt)).size).toBeLessThanOrEqual(2);
    expect(first.groups).toHaveLength(1);
    await api.request("DELETE", `topics/${topic}/groups/g`);
    expect(only((await overview(api)).topics.filter((each) => each.topic === topic)).groups).toEqual([]);
  });

  test("pages by names", async () => {
    const acme = live.api("acme");
    for (const topic of ["a", "b", "c"]) await acme.publish(topic, numbered(1, "k"));
    const first = await overview(acme, "?limit=2");
    expect([first.topics.map(({ topic }) => topic), first.next]).toEqual([["a", "b"], "b"]);
    const second = await overview(acme, `?limit=2&after=${first.next}`);
    expect([second.topics.map(({ topic }) => topic), second.next]).toEqual([["c"], null]);
  });

  test.each([
    ["limit=0", "limit"],
    ["limit=21", "limit"],
    ["limit=x", "limit"],
    ["after=A", "after"],
    ["after=", "after"],
    ["last=1", "last"],
  ])("refuses %s", async (query, field) => {
    expectProblem(await api.request("GET", `overview?${query}`), "invalid-request", field);
  });
});

describe("GET subscribers", () => {
  test("each with its lanes, in order of names", async () => {
    const topic = freshTopic();
    await api.publish(topic, [
      ...numbered(2, "k1", "a"),
      ...numbered(2, "k2", "b"),
      ...numbered(2, "k3", "c"),
    ]);
    const sinceMs = Date.now();
    await api.receive(topic, "g", { subscriber: "zoe", maxMessages: 1 });
    const ann = await api.receive(topic, "g", { subscriber: "ann", maxMessages: 1 });
    const reply = await subscribersOf(topic, "g");
    expect(reply).toMatchObject({ share: 2, busyLanes: 3, freeLanes: 1 });
    expect(reply.subscribers.map(({ subscriber }) => subscriber)).toEqual(["ann", "zoe"]);
    const held = { lanes: 1, busyLanes: 1, inFlight: 1, asking: true };
    expect(reply.subscribers[0]).toMatchObject({ ...held, partitions: ann.partitions });
    for (const { lastSeenAt, expiresAt } of reply.subscribers) {
      expect(lastSeenAt).toBeGreaterThanOrEqual(sinceMs);
      expect(expiresAt).toBe(lastSeenAt + 30_000);
    }
    await api.request("DELETE", `topics/${topic}/groups/g/subscribers/zoe`);
    expect((await subscribersOf(topic, "g")).subscribers).toHaveLength(1);
  });

  test("an unknown topic or group is not found; parameters that do not exist are refused", async () => {
    const topic = freshTopic();
    const path = `topics/${topic}/groups/g/subscribers`;
    expectProblem(await api.request("GET", path), "not-found");
    await api.putTopic(topic, {});
    expectProblem(await api.request("GET", path), "not-found");
    await api.putGroup(topic, "g");
    expect(await subscribersOf(topic, "g")).toEqual({
      subscribers: [],
      share: 0,
      busyLanes: 0,
      freeLanes: 0,
    });
    expectProblem(await api.request("GET", `${path}?limit=1`), "invalid-request", "limit");
  });
});

describe("GET messages?last", () => {
  const list = async (topic: string, query: string) => {
    const reply = await api.request<MessagePage>("GET", `topics/${topic}/messages?${query}`);
    expect(reply.status, reply.text).toBe(200);
    return reply.json;
  };

  test("shows the end, and `next` follows it", async () => {
    const topic = freshTopic();
    await api.putTopic(topic, {});
    expect(await list(topic, "last=5")).toEqual({ messages: [], next: null });
    await api.publish(topic, [...numbered(4, "k1", "a"), ...numbered(4, "k2", "b")]);
    const end = await list(topic, "last=3");
    expect(ids(end.messages)).toEqual(["b1", "b2", "b3"]);
    expect(end.next).toBe(end.messages[2]?.offset);
    expect(ids((await list(topic, "last=2&partitionKey=k1")).messages)).toEqual(["a2", "a3"]);
    expect((await list(topic, "last=100")).messages).toHaveLength(8);
    await api.publish(topic, numbered(2, "k1", "new"));
    const followed = await list(topic, `after=${end.next}`);
    expect([ids(followed.messages), followed.next]).toEqual([["new0", "new1"], null]);
  });

  test.each([
    ["last=0", "last"],
    ["last=101", "last"],
    ["last=-1", "last"],
    ["last=", "last"],
    ["last=5&after=1", "last"],
  ])("refuses %s", async (query, field) => {
    const topic = freshTopic();
    await api.putTopic(topic, {});
    const reply = await api.request("GET", `topics/${topic}/messages?${query}`);
    expectProblem(reply, "invalid-request", field);
  });
});

test("GET message with an offset: which one of several", async () => {
  const topic = freshTopic();
  await api.publish(topic, numbered(1, "k"));
  for (const group of ["g", "h"]) {
    const { deliveries } = await api.receive(topic, group);
    const receipt = only(deliveries).receipt;
    await api.settleOne(topic, group, { receipt, action: "reject", reason: `no use to ${group}` });
  }
  const letters = await until("both dead letters", async () => {
    const found = await api.deadLetters(topic);
    return found.length === 2 && found;
  });
  const one = (of: string, offset: number | string) =>
    api.request(
      "GET",
      `topics/${of}/message?${new URLSearchParams({ id: "m0", partitionKey: "k", offset: String(offset) })}`,
    );
  for (const { offset, reason } of letters) {
    const reply = await one(`${topic}_dlq`, offset);
    expect(reply.json).toMatchObject({ id: "m0", offset, body: 0, deadLetter: { reason } });
  }
  expectProblem(await one(topic, (letters[0]?.offset ?? 0) + 1), "not-found");
  expectProblem(await one(topic, 0), "not-found");
  for (const offset of ["-1", "1.5", "", "x"]) {
    expectProblem(await one(topic, offset), "invalid-request", "offset");
  }
});

test("scopes: consume or admin", async () => {
  const topic = freshTopic();
  await api.putGroup(topic, "g");
  const as = (scope: string) => live.api("demo", tenantToken(SECRET, "demo", scope));
  for (const path of ["overview", `topics/${topic}/groups/g/subscribers`]) {
    expect((await as("consume").request("GET", path)).status).toBe(200);
    expect((await as("admin").request("GET", path)).status).toBe(200);
    expectProblem(await as("publish").request("GET", path), "forbidden");
    expectProblem(await live.api("demo", null).request("GET", path), "unauthorized");
    const other = live.api("acme", tenantToken(SECRET, "demo"));
    expectProblem(await other.request("GET", path), "forbidden");
  }
});
