import { setTimeout as pause } from "node:timers/promises";
import { expect } from "vitest";
import type { Api } from "./api.ts";
import { KillAudit } from "./kill-audit.ts";
import { type Seeded, seeded } from "./seeded.ts";
import type { Delivery, ReceiveReply, SettleResult, WireSettlement } from "./wire.ts";

// Publishers and subscribers that go on while what they talk to is killed, and tell an auditor what they saw.

const VISIBILITY_TIMEOUT_MS = 1500;
const PARTITIONS = 5;
const GROUPS = [
  { name: "strict", strict: true },
  { name: "wide", strict: false },
];
/** With fewer the trouble met no load. */
const MIN_ACCEPTED = 40;
const MAX_PROBLEMS_SHOWN = 20;
const DRAIN_DEADLINE_MS = 30_000;
/** A request of a client that gives up soon, so that a dead server is noticed. */
const REQUEST_DEADLINE_MS = 4000;
const PUBLISH_DEADLINE_MS = 25_000;
const MAX_BACKLOG = 150;
/** Between tries while the server is away. */
const RETRY_MS = 25;

interface Stage {
  api: Api;
  topic: string;
  audit: KillAudit;
  publishing: boolean;
  consuming: boolean;
}

/**
 * Publishes and consumes while `trouble` runs, then to the end, and judges: all accepted is stored once and delivered in
 * order, nothing is skipped, no confirmed ack undone.
 */
export async function underLoad(
  api: Api,
  topic: string,
  seed: number,
  trouble: () => Promise<void>,
): Promise<void> {
  const audit = new KillAudit(GROUPS, VISIBILITY_TIMEOUT_MS);
  const stage: Stage = { api, topic, audit, publishing: true, consuming: true };
  for (const { name, strict } of GROUPS) {
    const inFlight = strict ? { maxInFlightPerPartition: 1 } : {};
    await api.putGroup(topic, name, { ...inFlight, maxAttempts: 1000, leaseDurationMs: 1500 });
  }
  const publishers = Array.from({ length: PARTITIONS }, (_, p) =>
    publisher(stage, `p${p}`, seeded(seed + 100 + p)),
  );
  const subscribers = GROUPS.flatMap(({ name }, g) =>
    [0, 1].map((s) => subscriber(stage, name, `s${s}`, seeded(seed + 200 + g * 10 + s))),
  );
  try {
    await trouble();
  } finally {
    stage.publishing = false;
    await Promise.all(publishers);
    if (!(await isDrained(stage))) audit.problems.push(`not drained within ${DRAIN_DEADLINE_MS} ms`);
    stage.consuming = false;
    await Promise.all(subscribers);
  }

  console.log(JSON.stringify(audit.summary()));
  expect(audit.finish().slice(0, MAX_PROBLEMS_SHOWN), `seed ${seed}`).toEqual([]);
  const expected = [...audit.accepted].flatMap(([key, count]) =>
    Array.from({ length: count }, (_, place) => `${key}/${place}`),
  );
  const stored = (await api.listMessages(topic)).map((message) => message.id);
  expect(stored.length, `seed ${seed}: stored, each once`).toBe(new Set(stored).size);
  expect([...stored].sort(), `seed ${seed}`).toEqual(expected.sort());
  expect(expected.length).toBeGreaterThan(MIN_ACCEPTED);
}

/** One try; null when no answer came. Any answer other than 200 is the server's fault and is recorded. */
async function attempt<T>(stage: Stage, path: string, json: unknown): Promise<T | null> {
  const signal = AbortSignal.timeout(REQUEST_DEADLINE_MS);
  const reply = await stage.api.request<T>("POST", path, { json, signal }).catch(() => null);
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
  const path = `topics/${stage.topic}/messages`;
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
  const path = `topics/${stage.topic}/groups/${group}`;
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
  const path = `topics/${stage.topic}/groups/${group}/settle`;
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

/** Waits until no group has anything left; false when that takes too long. */
async function isDrained({ api, topic }: Stage): Promise<boolean> {
  const endMs = Date.now() + DRAIN_DEADLINE_MS;
  while (Date.now() < endMs) {
    const { groups } = await api.getTopic(topic);
    if (groups.every((group) => group.backlog === 0 && group.inFlight === 0)) return true;
    await pause(RETRY_MS);
  }
  return false;
}
