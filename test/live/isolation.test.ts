import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { Api } from "./api.ts";
import { freshTopic, ids, type Live, numbered, only, SECRET, setup, until, untilClock } from "./harness.ts";
import { expectProblem } from "./problem.ts";
import { tenantToken } from "./tokens.ts";

/** One thread serves all objects of a local server, so only gross delays tell anything here. */
const QUIET_RECEIVE_WITHIN_MS = 2000;

let live: Live;
let quiet: Api;
let noisy: Api;
beforeAll(async () => {
  live = await setup();
  quiet = live.api("demo");
  noisy = live.api("acme");
});
afterAll(() => live?.close());

/** Publishes and consumes 30 rounds in order, and checks every result. */
async function quietStory(topic: string): Promise<void> {
  for (let i = 0; i < 30; i++) {
    const published = await quiet.publish(topic, [{ id: `m${i}`, partitionKey: "k", body: i }]);
    expect(published).toEqual([{ id: `m${i}`, partitionKey: "k", duplicate: false }]);
    const startMs = Date.now();
    const delivery = only((await quiet.receive(topic, "g", { waitMs: 10_000 })).deliveries);
    expect(Date.now() - startMs).toBeLessThan(QUIET_RECEIVE_WITHIN_MS);
    expect(delivery).toMatchObject({ id: `m${i}`, attempt: 1, body: i });
    await quiet.ack(topic, "g", [delivery]);
  }
  expect(await quiet.getTopic(topic)).toMatchObject({ messages: 30, groups: [{ backlog: 0, inFlight: 0 }] });
  expect(await quiet.deadLetters(topic)).toEqual([]);
}

/** Runs `trouble` again and again beside the quiet tenant's story. */
async function beside(topic: string, trouble: () => Promise<unknown>): Promise<void> {
  let working = true;
  const troubles = [0, 1, 2, 3].map(async () => {
    let rounds = 0;
    while (working) {
      await trouble();
      rounds += 1;
    }
    return rounds;
  });
  try {
    await quietStory(topic);
  } finally {
    working = false;
  }
  const rounds = await Promise.all(troubles);
  expect(Math.min(...rounds)).toBeGreaterThan(0);
}

describe("G7 tenants are independent", () => {
  test("G7 tenants are independent: beside a consumer that always fails", async () => {
    const topic = freshTopic();
    await noisy.putGroup(topic, "g", { maxAttempts: 3, retry: { initialBackoffMs: 0, maxBackoffMs: 0 } });
    let sent = 0;
    await beside(topic, async () => {
      sent += 1;
      await noisy.publish(topic, numbered(10, `k${sent % 5}`, `${sent}-`));
      const { deliveries } = await noisy.receive(topic, "g", { maxMessages: 100 });
      const nacks = deliveries.map(({ receipt }) => ({ receipt, action: "nack", reason: "always" }));
      if (nacks.length > 0) await noisy.settle(topic, "g", nacks);
    });
    await until("its dead letters", async () => (await noisy.deadLetters(topic)).length > 0);
    const { topics } = (await quiet.request<{ topics: string[] }>("GET", "topics")).json;
    expect(topics).not.toContain(`${topic}_dlq`);
  });

  test("G7 tenants are independent: beside a flood of full batches", async () => {
    const topic = freshTopic();
    let sent = 0;
    await beside(topic, async () => {
      sent += 1;
      await noisy.publish(topic, numbered(100, `k${sent % 50}`, `${sent}-`));
    });
  });

  test("G7 tenants are independent: beside hostile requests", async () => {
    const topic = freshTopic();
    const stolen = live.api("demo", tenantToken(SECRET, "acme"));
    await beside(topic, async () => {
      expectProblem(await stolen.request("DELETE", `topics/${topic}/messages`), "forbidden");
      const deep = `{"messages":${"[".repeat(200_000)}`;
      expectProblem(
        await noisy.request("POST", `topics/${topic}/messages`, { text: deep }),
        "invalid-request",
      );
      const garbage = { text: new Uint8Array(100_000).fill(0xff) };
      expectProblem(await noisy.request("POST", `topics/${topic}/messages`, garbage), "invalid-request");
      const claims = { settlements: [{ receipt: "0".repeat(50), action: "ack" }] };
      await noisy.request("POST", `topics/${topic}/groups/g/settle`, { json: claims });
    });
  });

  test("G7 tenants are independent: beside purges, resets and collection of the same names", async () => {
    const topic = freshTopic();
    await noisy.putTopic(topic, { retentionMs: 1000 });
    await beside(topic, async () => {
      await noisy.publish(topic, numbered(5, "k"));
      await noisy.receive(topic, "g");
      const reset = { json: { partitionKey: "k", offset: 0 } };
      await noisy.request("PUT", `topics/${topic}/groups/g/offset`, reset);
      await noisy.request("DELETE", `topics/${topic}/messages`);
      await noisy.request("POST", "gc");
      await noisy.request("DELETE", `topics/${topic}/groups/g/lease?partitionKey=k`);
    });
  });

  test("G7 tenants are independent: a tenant whose receives all wait is limited, the others are not", async () => {
    const topic = freshTopic();
    await noisy.putGroup(topic, "g");
    await noisy.putGroup(topic, "h");
    const receive = (subscriber: string, waitMs: number) =>
      noisy.request("POST", `topics/${topic}/groups/${subscriber.at(-1) === "0" ? "g" : "h"}/receive`, {
        json: { subscriber, waitMs },
      });
    const waiting = Array.from({ length: 1000 }, (_, i) => receive(`s${i}`, 15_000));
    // One more waits a moment too: when it comes before the last of them, that one is refused in its place.
    const ended: Awaited<ReturnType<typeof receive>>[] = [];
    for (const one of waiting) void one.then((reply) => ended.push(reply));
    const refused = await until("the limit of waiting receives", async () => {
      const reply = await receive("one-more", 1);
      return reply.status === 200 ? ended[0] : reply;
    });
    expectProblem(refused, "rate-limited");
    await quietStory(topic);
    const replies = await Promise.all(waiting);
    const displaced = replies.filter((reply) => reply === refused);
    expect(displaced.length).toBeLessThanOrEqual(1);
    for (const reply of replies) if (reply !== refused) expect(reply.status, reply.text).toBe(200);
    expect((await receive("one-more", 1)).status).toBe(200);
  });
});

describe("G7 tenants are independent: the same names", () => {
  test("G7 tenants are independent: the same topic, IDs and groups hold different messages", async () => {
    const topic = freshTopic();
    const message = (body: string) => [{ id: "x", partitionKey: "k", body }];
    expect(only(await quiet.publish(topic, message("quiet"))).duplicate).toBe(false);
    expect(only(await noisy.publish(topic, message("noisy"))).duplicate).toBe(false);
    const ofQuiet = only((await quiet.receive(topic, "g")).deliveries);
    const ofNoisy = only((await noisy.receive(topic, "g")).deliveries);
    expect([ofQuiet.body, ofNoisy.body]).toEqual(["quiet", "noisy"]);
    expect(await quiet.settleOne(topic, "g", { receipt: ofNoisy.receipt, action: "ack" })).toBe("invalid");
    expect(await noisy.settleOne(topic, "g", { receipt: ofQuiet.receipt, action: "reject" })).toBe("invalid");
    await noisy.ack(topic, "g", [ofNoisy]);
    expect(await quiet.getTopic(topic)).toMatchObject({ groups: [{ backlog: 1, inFlight: 1 }] });
    expect((await noisy.request("DELETE", `topics/${topic}/messages`)).json).toEqual({ deleted: 1 });
    expect(ids(await quiet.listMessages(topic))).toEqual(["x"]);
    await quiet.ack(topic, "g", [ofQuiet]);
  });

  test("G7 tenants are independent: settings of one are not seen by another", async () => {
    const topic = freshTopic();
    await noisy.putGroup(topic, "g", { maxAttempts: 9, paused: true });
    expectProblem(await quiet.request("GET", `topics/${topic}/groups/g`), "not-found");
    await quiet.publish(topic, numbered(1, "k"));
    expect((await quiet.receive(topic, "g")).deliveries).toHaveLength(1);
    expect((await quiet.request("GET", `topics/${topic}/groups/g`)).json).toMatchObject({ maxAttempts: 3 });
  });

  test("G7 tenants are independent: a publish of one wakes no receive of another", async () => {
    const topic = freshTopic();
    const waiting = quiet.receive(topic, "g", { waitMs: 700 });
    await untilClock(Date.now() + 100);
    await noisy.publish(topic, numbered(5, "k"));
    expect((await waiting).deliveries).toEqual([]);
  });
});
