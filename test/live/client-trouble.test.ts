import { afterAll, beforeAll, expect, test } from "vitest";
import type { Fairlane, Message } from "../../src/client/fairlane.ts";
import { atServer, clientOf } from "./client.ts";
import { freshTopic, ids, type Live, numbered, setup, until, untilClock } from "./harness.ts";
import { type Seeded, seeded, seedFrom } from "./seeded.ts";

let live: Live;
beforeAll(async () => {
  live = await setup();
});
afterAll(() => live?.close());

const PARTITIONS = ["a", "b", "c", "d"];
const MESSAGES = 240;
const KILLS_AFTER = [40, 120];
const retry = { initialBackoffMs: 10, multiplier: 1, maxBackoffMs: 10 };
const QUICK = { visibilityTimeoutMs: 1500, leaseDurationMs: 1500, maxAttempts: 1000, retry };

async function isDrained(topic: string): Promise<boolean> {
  const { groups } = await live.api("demo").getTopic(topic);
  return groups.length > 0 && groups.every(({ backlog }) => backlog === 0);
}

/** Consumes with two subscribers, one of which leaves and comes back, and notes what each handler saw. */
function consumers(topic: string, group: string, random: Seeded, signal: AbortSignal) {
  const first = new Map<string, number[]>();
  const running = new Set<string>();
  const problems: string[] = [];
  const handler = async ({ partitionKey, body, attempt }: Message) => {
    if (group === "strict" && running.has(partitionKey)) problems.push(`${partitionKey} twice at a time`);
    running.add(partitionKey);
    if (attempt === 1) first.set(partitionKey, [...(first.get(partitionKey) ?? []), body as number]);
    await untilClock(Date.now() + random.between(0, 2));
    running.delete(partitionKey);
    if (random.fraction() < 0.05) throw new Error("luck");
  };
  const quiet = { onStale: () => {}, onError: () => {} };
  const consume = (stop: AbortSignal) =>
    clientOf(live).consume(topic, { group, handler, signal: stop, drainMs: 2000, ...quiet });
  const comingAndGoing = async () => {
    while (!signal.aborted) {
      const leave = AbortSignal.timeout(random.between(200, 900));
      await consume(AbortSignal.any([signal, leave]));
    }
  };
  const done = Promise.all([consume(signal), comingAndGoing()]);
  return { done, first, problems };
}

test("SIGKILL in the middle: nothing is lost, nothing overtakes, and consuming goes on by itself", async () => {
  const random = seeded(seedFrom("CLIENT_KILL_SEED"));
  const topic = freshTopic("killed");
  const client = clientOf(live);
  await client.admin.putGroup(topic, "wide", QUICK);
  await client.admin.putGroup(topic, "strict", { ...QUICK, maxInFlightPerPartition: 1 });
  const stop = new AbortController();
  const groups = ["wide", "strict"].map((group) => consumers(topic, group, random, stop.signal));
  const handled = () => Math.min(...groups.map(({ first }) => [...first.values()].flat().length));

  const publishing = publishAll(client, topic, random);
  try {
    for (const kills of KILLS_AFTER) {
      await until(`${kills} are handled`, async () => handled() >= kills, 30_000);
      await live.kill();
      await live.restart();
    }
    expect(await publishing).toBe(MESSAGES);
    await until("all is settled", () => isDrained(topic), 30_000);
  } finally {
    stop.abort();
  }
  await Promise.all(groups.map(({ done }) => done));
  for (const { first, problems } of groups) {
    expect(problems).toEqual([]);
    for (const [key, places] of first) {
      // A delivery whose reply was lost comes again as its second attempt: then the first was never seen.
      expect(places, key).toEqual([...places].sort((x, y) => x - y));
      expect(new Set(places).size, key).toBe(places.length);
    }
  }
  const stored = await live.api("demo").listMessages(topic);
  expect(new Set(ids(stored)).size).toBe(MESSAGES);
}, 90_000);

/** In small batches, so that the kills meet some of them; how many were stored. */
async function publishAll(client: Fairlane, topic: string, random: Seeded): Promise<number> {
  let stored = 0;
  for (let place = 0; place < MESSAGES; ) {
    const size = Math.min(random.between(1, 8), MESSAGES - place);
    const batch = Array.from({ length: size }, (_, i) => ({
      id: `m${place + i}`,
      partitionKey: PARTITIONS[(place + i) % PARTITIONS.length] as string,
      body: place + i,
    }));
    stored += (await client.publishBatch(topic, batch)).length;
    place += size;
    await untilClock(Date.now() + random.between(1, 15));
  }
  return stored;
}

test("a publish whose reply is lost is stored once", async () => {
  const topic = freshTopic("lost");
  let lost = 0;
  const client = clientOf(live, {
    fetch: async (url, init) => {
      const response = await fetch(atServer(live, url), init);
      if (lost >= 2) return response;
      lost += 1;
      await response.text();
      throw new TypeError("fetch failed");
    },
  });
  const result = await client.publish(topic, { partitionKey: "p", body: "once" });
  expect(lost).toBe(2);
  expect(result).toMatchObject({ partitionKey: "p", duplicate: true });
  expect(ids(await live.api("demo").listMessages(topic))).toEqual([result.id]);
});

test("settlements whose replies are lost are done once, and nobody hears of it", async () => {
  const topic = freshTopic("unanswered");
  await clientOf(live).publishBatch(topic, numbered(20, "p"));
  let lost = 0;
  const client = clientOf(live, {
    fetch: async (url, init) => {
      const response = await fetch(atServer(live, url), init);
      if (!url.endsWith("/settle") || lost >= 2) return response;
      lost += 1;
      await response.text();
      throw new TypeError("fetch failed");
    },
  });
  const stop = new AbortController();
  const seen: string[] = [];
  const stale: string[] = [];
  const consuming = client.consume(topic, {
    group: "g",
    signal: stop.signal,
    handler: ({ id }) => seen.push(id),
    onStale: ({ message, status }) => stale.push(`${message.id} ${status}`),
    onError: () => {},
  });
  await until("all is settled", () => isDrained(topic));
  stop.abort();
  await consuming;
  expect(lost).toBe(2);
  expect(seen).toEqual(ids(numbered(20, "p")));
  expect(stale).toEqual([]);
});
