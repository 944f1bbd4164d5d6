import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { Api } from "./api.ts";
import { freshTopic, ids, type Live, numbered, only, setup, until } from "./harness.ts";
import { expectProblem } from "./problem.ts";
import type { WireMessage } from "./wire.ts";

let live: Live;
let api: Api;
beforeAll(async () => {
  live = await setup();
  api = live.api("demo");
});
afterAll(() => live?.close());

type MessagePage = { messages: (WireMessage & Record<string, unknown>)[]; next: number | string | null };
const one = (topic: string, id: string, partitionKey: string) =>
  `topics/${topic}/message?${new URLSearchParams({ id, partitionKey })}`;

describe("GET messages", () => {
  test("lists in offset order, page by page, without bodies", async () => {
    const topic = freshTopic();
    await api.publish(topic, numbered(5, "k"));
    const seen: MessagePage["messages"] = [];
    let after = "";
    for (let page = 0; page < 3; page++) {
      const reply = await api.request<MessagePage>("GET", `topics/${topic}/messages?limit=2${after}`);
      expect(reply.status, reply.text).toBe(200);
      expect(reply.json.messages).toHaveLength(page < 2 ? 2 : 1);
      seen.push(...reply.json.messages);
      if (page < 2) {
        expect(reply.json.next).not.toBeNull();
        after = `&after=${reply.json.next}`;
      } else {
        expect(reply.json.next).toBeNull();
      }
    }
    expect(ids(seen)).toEqual(["m0", "m1", "m2", "m3", "m4"]);
    const offsets = seen.map((message) => message.offset);
    expect(offsets).toEqual([...offsets].sort((a, b) => a - b));
    for (const message of seen) {
      expect(message).toMatchObject({ partitionKey: "k", publishedAt: expect.any(Number) });
      expect(message).not.toHaveProperty("body");
      expect(message).not.toHaveProperty("bodyBase64");
    }
  });

  test("of one partition only", async () => {
    const topic = freshTopic();
    await api.publish(topic, [
      ...numbered(3, "k1", "a"),
      ...numbered(3, "*", "b"),
      ...numbered(1, "k11", "c"),
    ]);
    const list = async (key: string) =>
      ids(
        (await api.request<MessagePage>("GET", `topics/${topic}/messages?partitionKey=${key}`)).json.messages,
      );
    expect(await list("k1")).toEqual(["a0", "a1", "a2"]);
    expect(await list("*")).toEqual(["b0", "b1", "b2"]);
    expect(await list("nothing")).toEqual([]);
  });

  test("shows 100 at most, and offsets are those of the deliveries", async () => {
    const topic = freshTopic();
    await api.publish(topic, numbered(100, "k"));
    await api.publish(topic, numbered(1, "k", "more"));
    const full = (await api.request<MessagePage>("GET", `topics/${topic}/messages?limit=100`)).json;
    expect(full.messages).toHaveLength(100);
    expect(full.next).not.toBeNull();
    const { deliveries } = await api.receive(topic, "g");
    expect(deliveries.map((delivery) => delivery.offset)).toEqual(
      full.messages.slice(0, 10).map((message) => message.offset),
    );
  });

  test("a topic that does not exist is not found", async () => {
    expectProblem(await api.request("GET", `topics/${freshTopic()}/messages`), "not-found");
  });

  const refused: [string, string][] = [
    ["limit=0", "limit"],
    ["limit=101", "limit"],
    ["limit=-1", "limit"],
    ["limit=1.5", "limit"],
    ["limit=1e1", "limit"],
    ["limit=", "limit"],
    ["limit=0x10", "limit"],
    ["limit=%201", "limit"],
    ["limit=10&limit=20", "limit"],
    ["after=-1", "after"],
    ["after=x", "after"],
    ["after=9007199254740993", "after"],
    ["partitionKey=", "partitionKey"],
    ["partitionKey=a%00", "partitionKey"],
    ["partitionKey=a%20", "partitionKey"],
    ["key=a", "key"],
    ["__proto__=a", "__proto__"],
  ];
  test.each(refused)("refuses ?%s", async (query, field) => {
    const topic = freshTopic();
    await api.putTopic(topic, {});
    expectProblem(await api.request("GET", `topics/${topic}/messages?${query}`), "invalid-request", field);
  });
});

describe("GET message", () => {
  test("gives one message with its JSON body as it was", async () => {
    const topic = freshTopic();
    const text =
      '{"messages":[{"id":"a b","partitionKey":"ключ","body":{"n":1.0,"n":12345678901234567890}}]}';
    const headers = { "content-type": "application/json" };
    expect((await api.request("POST", `topics/${topic}/messages`, { text, headers })).status).toBe(200);
    const reply = await api.request<Record<string, unknown>>("GET", one(topic, "a b", "ключ"));
    expect(reply.status, reply.text).toBe(200);
    expect(reply.text).toContain('"body":{"n":1.0,"n":12345678901234567890}');
    expect(reply.json).toMatchObject({ id: "a b", partitionKey: "ключ", contentType: "application/json" });
    expect(reply.json).not.toHaveProperty("bodyBase64");
  });

  test("gives bytes as base64, with headers", async () => {
    const topic = freshTopic();
    const message = { id: "x", partitionKey: "k", bodyBase64: "AP8=", contentType: "image/png" };
    await api.publish(topic, [{ ...message, headers: { "x-dev": "alice" } }]);
    const reply = await api.request("GET", one(topic, "x", "k"));
    expect(reply.json).toMatchObject({ ...message, headers: { "x-dev": "alice" } });
    expect(reply.json).not.toHaveProperty("body");
  });

  test("finds a message of a spread lane", async () => {
    const topic = freshTopic();
    const { partitionKey } = only(await api.publish(topic, [{ id: "x", body: 1 }]));
    expect((await api.request("GET", one(topic, "x", partitionKey))).json).toMatchObject({
      id: "x",
      body: 1,
    });
  });

  test("what is not there is not found; what is not given is refused", async () => {
    const topic = freshTopic();
    await api.publish(topic, numbered(1, "k"));
    expectProblem(await api.request("GET", one(topic, "m1", "k")), "not-found");
    expectProblem(await api.request("GET", one(topic, "m0", "K")), "not-found");
    expectProblem(await api.request("GET", one(freshTopic(), "m0", "k")), "not-found");
    expectProblem(
      await api.request("GET", `topics/${topic}/message?id=m0`),
      "invalid-request",
      "partitionKey",
    );
    expectProblem(
      await api.request("GET", `topics/${topic}/message?partitionKey=k`),
      "invalid-request",
      "id",
    );
  });
});

describe("DELETE message", () => {
  test("removes it for every group and forgets its ID", async () => {
    const topic = freshTopic();
    await api.publish(topic, numbered(3, "k"));
    const deleted = await api.request("DELETE", one(topic, "m1", "k"));
    expect(deleted.status, deleted.text).toBe(204);
    expect(deleted.text).toBe("");
    expectProblem(await api.request("GET", one(topic, "m1", "k")), "not-found");
    expectProblem(await api.request("DELETE", one(topic, "m1", "k")), "not-found");
    expect(ids((await api.receive(topic, "g")).deliveries)).toEqual(["m0", "m2"]);
    const again = only(await api.publish(topic, [{ id: "m1", partitionKey: "k", body: "new" }]));
    expect(again.duplicate).toBe(false);
    expect(ids((await api.receive(topic, "g")).deliveries)).toEqual(["m1"]);
  });

  test("frees a strict lane that the message was holding", async () => {
    const topic = freshTopic();
    await api.putGroup(topic, "g", { maxInFlightPerPartition: 1 });
    await api.publish(topic, numbered(2, "k"));
    const first = only((await api.receive(topic, "g")).deliveries);
    const waiting = api.receive(topic, "g", { waitMs: 5000 });
    await api.request("DELETE", one(topic, "m0", "k"));
    expect(ids((await waiting).deliveries)).toEqual(["m1"]);
    expect(["settled", "stale"]).toContain(
      await api.settleOne(topic, "g", { receipt: first.receipt, action: "ack" }),
    );
  });
});

describe("DELETE messages", () => {
  test("purges what was there and forgets the IDs, for every group", async () => {
    const topic = freshTopic();
    await api.putGroup(topic, "h");
    for (let i = 0; i < 12; i++) await api.publish(topic, numbered(100, `k${i}`));
    const { deliveries } = await api.receive(topic, "g");
    const reply = await api.request("DELETE", `topics/${topic}/messages`);
    expect(reply.status, reply.text).toBe(200);
    expect(reply.json).toEqual({ deleted: 1200 });
    expect((await api.request("DELETE", `topics/${topic}/messages`)).json).toEqual({ deleted: 0 });
    expect(await api.listMessages(topic)).toEqual([]);
    for (const result of await api.settle(
      topic,
      "g",
      deliveries.map(({ receipt }) => ({ receipt, action: "ack" })),
    )) {
      expect(["settled", "stale"]).toContain(result.status);
    }
    expect(only(await api.publish(topic, numbered(1, "k0"))).duplicate).toBe(false);
    for (const group of ["g", "h"]) {
      expect(ids((await api.receive(topic, group, { waitMs: 2000 })).deliveries)).toEqual(["m0"]);
    }
    await until("the counts follow", async () => {
      const { groups } = await api.getTopic(topic);
      return groups.every((group) => group.backlog === 1 && group.inFlight === 1);
    });
  });

  test("an unknown topic is not found", async () => {
    expectProblem(await api.request("DELETE", `topics/${freshTopic()}/messages`), "not-found");
  });
});
