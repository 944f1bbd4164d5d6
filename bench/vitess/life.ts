import { setTimeout as pause } from "node:timers/promises";
import { MessageSource, Seen } from "../load/messages.ts";
import { measurePaced } from "../load/paced.ts";
import { type QueueClient, type Target, withClients } from "../load/queue-client.ts";
import { consumeAll, publishAll } from "../load/queue-work.ts";
import { PARTITIONS } from "../phases/end-to-end.ts";
import { collectAll, RETENTION_MS } from "../phases/rows.ts";
import { TENANT } from "../server.ts";
import { addCosts, type Cost, type CostMeter, costEach, NO_COST, withCostMeter } from "./cost.ts";
import { type VitessPlace, withServedPlace } from "./place.ts";

/**
 * Whole lives: published, received, settled, checkpointed, read once more when older than the commit horizon,
 * collected. Horizon and retention are short, so that all of it lies within the run; a shorter horizon makes
 * confirming reads more frequent, not fewer.
 */
export const LIFE_HORIZON_MS = 5000;
export const LIFE_RETENTION_MS = RETENTION_MS;
const GROUP = "workers";
const CLIENTS = 4;
/** Published, then received and settled, in turn: what caused a row is known, and the backlog stays small. */
const ROUND_MESSAGES = 5000;
/** After the horizon: the last settlements are checkpointed, and everything can be made sure of. */
const QUIET_MS = 5000;
const WARM_UP_MS = 1000;

export const LIFE_STEPS = ["publish", "deliver", "wait", "collect"] as const;
export type LifeStep = (typeof LIFE_STEPS)[number];

/** A message's, by what caused it. `wait`: between the last settlement and the first collection. */
export interface LifeFigures {
  total: Cost;
  steps: Record<LifeStep, Cost>;
}

export async function measureLife(place: VitessPlace, messages: number): Promise<LifeFigures> {
  return withLife(place, async (target, meter) =>
    withClients(target, CLIENTS, async (clients) => {
      const life = noLife();
      const source = new MessageSource(PARTITIONS);
      const seen = new Seen();
      while (source.made < messages) {
        await publishAll(clients, source, Math.min(ROUND_MESSAGES, messages - source.made));
        life.publish = addCosts(life.publish, await meter.take());
        await consumeAll(clients, GROUP, seen, source.made);
        life.deliver = addCosts(life.deliver, await meter.take());
      }
      await collect(clients[0] as QueueClient, meter, life, messages);
      return figuresOf(life, messages);
    }),
  );
}

export interface SinglesFigures extends LifeFigures {
  ratePerSecond: number;
}

/** The same of messages that are published one by one, while a receive waits. */
export async function measureSingles(
  place: VitessPlace,
  { ratePerSecond, windowMs }: { ratePerSecond: number; windowMs: number },
): Promise<SinglesFigures> {
  return withLife(place, async (target, meter) => {
    const life = noLife();
    const source = new MessageSource(PARTITIONS);
    await measurePaced(target, source, { ratePerSecond, warmUpMs: WARM_UP_MS, windowMs });
    life.deliver = await meter.take();
    return withClients(target, 1, async ([client]) => {
      await collect(client as QueueClient, meter, life, source.made);
      return { ...figuresOf(life, source.made), ratePerSecond };
    });
  });
}

async function withLife<T>(
  place: VitessPlace,
  use: (target: Target, meter: CostMeter) => Promise<T>,
): Promise<T> {
  return withServedPlace(place, { metered: true, horizonMs: LIFE_HORIZON_MS }, async (served) => {
    const target: Target = { url: served.url, token: served.token, tenant: TENANT, topic: "life" };
    await withClients(target, 1, async ([client]) => {
      await client?.call("PUT", `topics/${target.topic}`, { retentionMs: LIFE_RETENTION_MS });
      await client?.call("PUT", `topics/${target.topic}/groups/${GROUP}`, {});
    });
    // From here on: making the object, its tables, the topic and the group is no message's.
    return withCostMeter(served, (meter) => use(target, meter));
  });
}

async function collect(
  client: QueueClient,
  meter: CostMeter,
  life: Record<LifeStep, Cost>,
  messages: number,
): Promise<void> {
  await pause(LIFE_HORIZON_MS + QUIET_MS);
  life.wait = await meter.take();
  await collectAll(client, messages);
  // Progress of partitions without messages goes with the next pass.
  await client.call("POST", "gc");
  life.collect = await meter.take();
}

function noLife(): Record<LifeStep, Cost> {
  return { publish: NO_COST, deliver: NO_COST, wait: NO_COST, collect: NO_COST };
}

function figuresOf(life: Record<LifeStep, Cost>, messages: number): LifeFigures {
  const steps = { ...life };
  let total = NO_COST;
  for (const step of LIFE_STEPS) {
    total = addCosts(total, life[step]);
    steps[step] = costEach(life[step], messages);
  }
  return { total: costEach(total, messages), steps };
}
