import { setTimeout as pause } from "node:timers/promises";
import { afterAll, beforeAll, expect, test } from "vitest";
import type { Api } from "./api.ts";
import { type Live, setup } from "./harness.ts";
import { KillAudit } from "./kill-audit.ts";
import { type Seeded, seeded, seedFrom } from "./seeded.ts";
import type { Delivery, ReceiveReply, SettleResult, WireSettlement } from "./wire.ts";

const TOPIC = "orders";
const KILLS = 8;
const PARTITIONS = 5;
const VISIBILITY_TIMEOUT_MS = 1500;
const GROUPS = [
  { name: "strict", strict: true },
  { name: "wide", strict: false },
];
const DRAIN_DEADLINE_MS = 30_000;
/** A request of a client that gives up soon, so that a dead server is noticed. */
const REQUEST_DEADLINE_MS = 4000;
const PUBLISH_DEADLINE_MS = 25_000;
const MAX_BACKLOG = 150;
const MAX_PROBLEMS_SHOWN = 20;
/** Between tries while the server is away. */
const RETRY_MS = 25;

let live: Live;
let api: Api;
beforeAll(async () => {
  live = await setup();
  api = live.api("demo");
});
afterAll(() => live?.close());

interface Stage {
  audit: KillAudit;
  publishing: boolean;
  consuming: boolean;
}

/** One try; null when no answer came. Any answer other than 200 is the server's fault and is recorded. */
async function attempt<T>(stage: Stage, path: string, json: unknown): Promise<T | null> {
  const signal = AbortSignal.timeout(REQUEST_DEADLINE_MS);
  const reply = await api.request<T>("POST", path, { json, signal }).catch(() => null);
  if (reply === null) return null;
  if (reply.status === 200) return reply.json;
  // 503 is an honest answer while a server comes up; it settles nothing and is tried again.
  if (reply.status !== 503)
    stage.audit.problems.push(`POST ${path}: ${reply.status} ${reply.text.slice(0, 300)}`);
  return null;
}

/** Publishes batches to its own partition, each again with the same IDs until it is answered. */
async function publisher(stage: Stage, partitionKey: string, random: Seeded): Promise<void> {
  let place = 0;
  while (stage.publishing) {
    const count = random.between(1, 4);
    const messages = Array.from({ length: count }, (_, i) => ({
      id: `${partitionKey}/${place + i}`,
      partitionKey,
      body: { place: place + i, filling: "x".repeat(random.between(0, 300)) },
    }));
    if (!(await untilAnswered(stage, { messages }))) return;
    stage.audit.published(partitionKey, count);
    place += count;
    await pause(random.between(1, 12));
    // A strict group takes one message at a time; the test is about what is kept, not about how fast.
    while (stage.publishing && stage.audit.notYetAcked("strict") > MAX_BACKLOG) await pause(RETRY_MS);
  }
}

/** The same IDs again and again; false, and a problem, when the server never answers well. */
async function untilAnswered(stage: Stage, json: unknown): Promise<boolean> {
  const path = `topics/${TOPIC}/messages`;
  const endMs = Date.now() + PUBLISH_DEADLINE_MS;
  while (Date.now() < endMs) {
    if ((await attempt(stage, path, json)) !== null) return true;
    await pause(RETRY_MS);
  }
  stage.audit.problems.push(`POST ${path}: not accepted within ${PUBLISH_DEADLINE_MS} ms`);
  return false;
}

/** Receives and settles: mostly acks, some nacks, some left to lapse. */
async function subscriber(stage: Stage, group: string, name: string, random: Seeded): Promise<void> {
  const path = `topics/${TOPIC}/groups/${group}`;
  while (stage.consuming) {
    const asked = {
      subscriber: name,
      maxMessages: random.between(1, 20),
      waitMs: 300,
      visibilityTimeoutMs: VISIBILITY_TIMEOUT_MS,
    };
    const reply = await attempt<ReceiveReply>(stage, `${path}/receive`, asked);
    if (reply === null) {
      await pause(RETRY_MS);
      continue;
    }
    const handled: { delivery: Delivery; settlement: WireSettlement }[] = [];
    for (const delivery of reply.deliveries) {
      stage.audit.delivered(group, delivery);
      const { receipt } = delivery;
      // Once publishing is over nothing fails any more, so that the end is reached.
      const luck = stage.publishing ? random.fraction() : 1;
      if (luck < 0.01) continue;
      if (luck < 0.06) {
        handled.push({ delivery, settlement: { receipt, action: "nack", delayMs: random.between(0, 40) } });
      } else {
        stage.audit.ackSent(group, delivery);
        handled.push({ delivery, settlement: { receipt, action: "ack" } });
      }
    }
    const again = random.fraction() < 0.5;
    while (handled.length > 0 && !(await settle(stage, group, name, handled)) && again && stage.consuming) {
      await pause(RETRY_MS);
    }
  }
}

/** False when no answer came. */
async function settle(
  stage: Stage,
  group: string,
  name: string,
  handled: { delivery: Delivery; settlement: WireSettlement }[],
): Promise<boolean> {
  const settlements = handled.map(({ settlement }) => settlement);
  const path = `topics/${TOPIC}/groups/${group}/settle`;
  const reply = await attempt<{ results: SettleResult[] }>(stage, path, { subscriber: name, settlements });
  if (reply === null) return false;
  for (const [i, { delivery, settlement }] of handled.entries()) {
    const status = reply.results[i]?.status;
    // `settled` answers an ack that was carried out before its first answer got lost.
    const isSettled = status === "ok" || status === "settled";
    if (isSettled && settlement.action === "ack") stage.audit.ackConfirmed(group, delivery);
    // Slow handling may make a receipt stale; that it is called invalid would mean that it was forgotten.
    if (status === undefined || status === "invalid") {
      stage.audit.problems.push(`${group}: ${settlement.action} of ${delivery.id} answered ${status}`);
    }
  }
  return true;
}

async function isDrained(): Promise<boolean> {
  const endMs = Date.now() + DRAIN_DEADLINE_MS;
  while (Date.now() < endMs) {
    const { groups } = await api.getTopic(TOPIC);
    if (groups.every((group) => group.backlog === 0 && group.inFlight === 0)) return true;
    await pause(RETRY_MS);
  }
  return false;
}

test("SIGKILL under load: all accepted is delivered in order, nothing is skipped, no confirmed ack undone", async () => {
  const seed = seedFrom("KILL_SEED");
  const random = seeded(seed);
  const stage: Stage = {
    audit: new KillAudit(GROUPS, VISIBILITY_TIMEOUT_MS),
    publishing: true,
    consuming: true,
  };
  for (const { name, strict } of GROUPS) {
    const inFlight = strict ? { maxInFlightPerPartition: 1 } : {};
    await api.putGroup(TOPIC, name, { ...inFlight, maxAttempts: 1000, leaseDurationMs: 1500 });
  }
  const publishers = Array.from({ length: PARTITIONS }, (_, p) =>
    publisher(stage, `p${p}`, seeded(seed + 100 + p)),
  );
  const subscribers = GROUPS.flatMap(({ name }, g) =>
    [0, 1].map((s) => subscriber(stage, name, `s${s}`, seeded(seed + 200 + g * 10 + s))),
  );
  for (let kill = 0; kill < KILLS; kill++) {
    // Sometimes hardly up again, mostly in the middle of the load.
    await pause(random.fraction() < 0.25 ? random.between(0, 100) : random.between(300, 2500));
    await live.kill();
    await live.restart();
  }
  await pause(500);
  stage.publishing = false;
  await Promise.all(publishers);
  const drained = await isDrained();
  if (!drained) stage.audit.problems.push(`not drained within ${DRAIN_DEADLINE_MS} ms`);
  stage.consuming = false;
  await Promise.all(subscribers);

  console.log(JSON.stringify({ kills: KILLS, ...stage.audit.summary() }));
  expect(stage.audit.finish().slice(0, MAX_PROBLEMS_SHOWN), `seed ${seed}`).toEqual([]);
  const expected = [...stage.audit.accepted].flatMap(([key, count]) =>
    Array.from({ length: count }, (_, place) => `${key}/${place}`),
  );
  const stored = (await api.listMessages(TOPIC)).map((message) => message.id);
  expect(stored.length, `seed ${seed}: stored, each once`).toBe(new Set(stored).size);
  expect([...stored].sort(), `seed ${seed}`).toEqual(expected.sort());
  expect(expected.length).toBeGreaterThan(KILLS * PARTITIONS);
}, 120_000);
