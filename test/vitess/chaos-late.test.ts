import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { Api } from "../live/api.ts";
import { freshTopic, ids, type Live, numbered, only, until, untilClock } from "../live/harness.ts";
import type { Delivery, PublishedMessage } from "../live/wire.ts";
import { openPublish, publishUnheard } from "./direct-publish.ts";
import { type ServerDatabase, ServerPlace } from "./server-place.ts";

// What is committed long after its offset was given, and what nobody told the tenant object of (G9). Cases that mostly
// wait for a clock run at the same time, each on a topic of its own.

const TENANT = "demo";
const HORIZON_MS = 5000;
/** Shorter than the horizon by more than a slow machine takes to begin. */
const OPEN_FOR_MS = 4000;
/** Dispatch looks again so often without any hint, as design.md says. */
const SWEEP_MS = 5000;
/** For the reads and replies around it. */
const SLACK_MS = 2000;

let place: ServerPlace;
let database: ServerDatabase;
let live: Live;
let api: Api;
beforeAll(async () => {
  place = await ServerPlace.start({ durable: false });
  database = await place.database({ commitHorizonMs: HORIZON_MS });
  live = await place.server(database);
  api = live.api(TENANT);
});
afterAll(async () => {
  await live?.close();
  await place?.stop();
});

const late = (topic: string) => ({ tenant: TENANT, topic, id: "late", partitionKey: "k" });

let rounds = 0;

/** Publishes and acks until the clock passes `untilMs`, `perRound` of partition "k" and one other; what came, in order. */
async function consumeUntil(topic: string, untilMs: number, perRound = 2): Promise<Delivery[]> {
  const seen: Delivery[] = [];
  while (Date.now() < untilMs) {
    rounds += 1;
    await api.publish(topic, [
      ...numbered(perRound, "k", `${rounds}/`),
      ...numbered(1, "other", `${rounds}/`),
    ]);
    const deliveries = await api.receiveCount(topic, "g", perRound + 1);
    await api.ack(topic, "g", deliveries);
    seen.push(...deliveries);
    await untilClock(Date.now() + 100);
  }
  return seen;
}

describe("G9 no skipped message: a commit four seconds after its offset was given", () => {
  test.concurrent.each(["flowing", "strict"])(
    "is delivered, larger ones being consumed and acked: %s",
    async (kind) => {
      const topic = freshTopic();
      await api.putGroup(topic, "g", kind === "strict" ? { maxInFlightPerPartition: 1 } : {});
      await api.publish(topic, numbered(1, "k", "first"));
      await api.ack(topic, "g", await api.receiveCount(topic, "g", 1));
      const open = await openPublish(database.dsn, late(topic));
      const seen = await consumeUntil(topic, Date.now() + OPEN_FOR_MS, kind === "strict" ? 1 : 2);
      await open.commit();
      const committedAtMs = Date.now();
      const delivery = only(await api.receiveCount(topic, "g", 1));
      expect(Date.now() - committedAtMs).toBeLessThan(HORIZON_MS + SLACK_MS);
      expect(delivery).toMatchObject({ id: "late", attempt: 1, body: "late" });
      expect(seen.length).toBeGreaterThan(10);
      const below = seen.filter(({ offset }) => offset < delivery.offset);
      expect(ids(below)).toEqual([]);
      await api.ack(topic, "g", [delivery]);
      expect(await api.getTopic(topic)).toMatchObject({ groups: [{ backlog: 0, inFlight: 0 }] });
      expect((await api.receive(topic, "g", { waitMs: 500 })).deliveries).toEqual([]);
    },
  );

  test.concurrent("is not collected unread, however short its topic's retention", async () => {
    const topic = freshTopic();
    await api.putTopic(topic, { retentionMs: 1000 });
    await api.publish(topic, numbered(1, "k", "first"));
    await api.ack(topic, "g", await api.receiveCount(topic, "g", 1));
    const open = await openPublish(database.dsn, late(topic));
    const openedAtMs = Date.now();
    while (Date.now() < openedAtMs + OPEN_FOR_MS) {
      await consumeUntil(topic, Date.now() + 200);
      expect((await api.request("POST", "gc")).status).toBe(200);
    }
    await open.commit();
    for (let pass = 0; pass < 3; pass++) expect((await api.request("POST", "gc")).status).toBe(200);
    expect(only(await api.receiveCount(topic, "g", 1))).toMatchObject({ id: "late" });
  });
});

describe("G1 durable publish: a publish that waits behind an open one of its own ID", () => {
  const GIVE_UP_MS = 1000;

  test.concurrent.each(["commit", "rollback"] as const)(
    "and its retries are one message, after a %s",
    async (how) => {
      const topic = freshTopic();
      await api.publish(topic, numbered(1, "k", "first"));
      await api.ack(topic, "g", await api.receiveCount(topic, "g", 1));
      const open = await openPublish(database.dsn, late(topic));
      const openedAtMs = Date.now();
      const json = { messages: [{ id: "late", partitionKey: "k", body: "late" }] };
      const publish = (signal?: AbortSignal) =>
        api.request<{ messages: PublishedMessage[] }>("POST", `topics/${topic}/messages`, {
          json,
          ...(signal ? { signal } : {}),
        });
      // The first client goes away, as a producer with a short deadline does; two retries wait until the end.
      const first = publish(AbortSignal.timeout(GIVE_UP_MS)).catch(() => null);
      const consuming = consumeUntil(topic, openedAtMs + OPEN_FOR_MS);
      expect(await first, "it waits").toBeNull();
      const retries = [publish(), publish()];
      const seen = await consuming;
      await open[how]();
      for (const reply of await Promise.all(retries)) expect(reply.status, reply.text).toBe(200);
      const answers = await Promise.all(
        retries.map(async (reply) => (await reply).json.messages[0]?.duplicate),
      );
      if (how === "commit") expect(answers).toEqual([true, true]);
      // Rolled back, it is one of the three that wait; the one that went away may be it.
      else expect(answers.filter((duplicate) => !duplicate).length).toBeLessThanOrEqual(1);

      const delivery = only(await api.receiveCount(topic, "g", 1));
      expect(delivery).toMatchObject({ id: "late", attempt: 1, body: "late" });
      await api.ack(topic, "g", [delivery]);
      expect(ids(seen)).not.toContain("late");
      expect(ids(await api.listMessages(topic)).filter((id) => id === "late")).toHaveLength(1);
      await untilClock(openedAtMs + OPEN_FOR_MS + HORIZON_MS);
      expect((await api.receive(topic, "g", { waitMs: 1000 })).deliveries).toEqual([]);
      expect(only(await publish().then(({ json: { messages } }) => messages)).duplicate).toBe(true);
    },
  );
});

describe("a message that the tenant object was not told of", () => {
  test.concurrent("reaches a waiting receive within the sweep", async () => {
    const topic = freshTopic();
    const tookMs: number[] = [];
    await api.putGroup(topic, "g");
    for (let round = 0; round < 3; round++) {
      const waiting = api.receive(topic, "g", { waitMs: 20_000 });
      // Somewhere in the time between two sweeps.
      await untilClock(Date.now() + 300 + round * 1500);
      const sentAtMs = Date.now();
      await publishUnheard(database.dsn, { ...late(topic), id: `unheard-${round}` });
      const delivery = only((await waiting).deliveries);
      tookMs.push(Date.now() - sentAtMs);
      expect(delivery.id).toBe(`unheard-${round}`);
      await api.ack(topic, "g", [delivery]);
    }
    console.log(JSON.stringify({ unheardMs: tookMs }));
    expect(Math.max(...tookMs)).toBeLessThan(SWEEP_MS + 500);
  });

  test("comes at once with the next message, and in front of it", async () => {
    const topic = freshTopic();
    await api.putGroup(topic, "g");
    const waiting = api.receive(topic, "g", { waitMs: 20_000 });
    await untilClock(Date.now() + 300);
    await publishUnheard(database.dsn, late(topic));
    await api.publish(topic, numbered(1, "k", "next"));
    expect(ids((await waiting).deliveries)).toEqual(["late", "next0"]);
  });

  test("is found by a receive that asks after it, at once", async () => {
    const topic = freshTopic();
    await api.putGroup(topic, "g");
    await publishUnheard(database.dsn, late(topic));
    expect(ids((await api.receive(topic, "g", { waitMs: 0 })).deliveries)).toEqual(["late"]);
  });

  test("a publish whose hint died with the server waits for nothing after the restart", async () => {
    const topic = freshTopic();
    await api.putGroup(topic, "g");
    await api.publish(topic, numbered(3, "k"));
    await live.kill();
    await live.restart();
    const startMs = Date.now();
    expect(ids((await api.receive(topic, "g", { waitMs: 20_000 })).deliveries)).toEqual(["m0", "m1", "m2"]);
    expect(Date.now() - startMs).toBeLessThan(SWEEP_MS);
  });

  test("a topic that nobody told of is there for a first receive", async () => {
    const topic = freshTopic("unheard-topic");
    await place.mariaDb.runSql(
      `INSERT INTO queue_topics VALUES ('${TENANT}', '${topic}', 3600000, 604800000)`,
      database.name,
    );
    await publishUnheard(database.dsn, late(topic));
    expect(ids((await api.receive(topic, "g")).deliveries)).toEqual(["late"]);
    await until("it is listed", async () => (await api.getTopic(topic)).messages === 1);
  });
});

test("G9 no skipped message: a late commit is delivered when its server was killed meanwhile", async () => {
  const topic = freshTopic();
  await api.publish(topic, numbered(1, "k", "first"));
  await api.ack(topic, "g", await api.receiveCount(topic, "g", 1));
  const open = await openPublish(database.dsn, late(topic));
  const openedAtMs = Date.now();
  await consumeUntil(topic, openedAtMs + OPEN_FOR_MS / 2);
  await live.kill();
  await live.restart();
  await consumeUntil(topic, openedAtMs + OPEN_FOR_MS);
  await open.commit();
  expect(only(await api.receiveCount(topic, "g", 1))).toMatchObject({ id: "late", attempt: 1 });
});
