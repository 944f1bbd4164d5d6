import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { ChildProgram } from "../load/child-program.ts";
import { ClientPool } from "../load/client-pool.ts";
import { MessageSource } from "../load/messages.ts";
import { MeterReader } from "../load/meter.ts";
import { type QueueClient, type Target, withClients } from "../load/queue-client.ts";
import { publishAll } from "../load/queue-work.ts";
import { PARTITIONS } from "../phases/end-to-end.ts";
import { TENANT } from "../server.ts";
import { percentile } from "../statistics.ts";
import { type VitessPlace, withServedPlace } from "./place.ts";
import type { PublishAnswer, PublishOrder } from "./publish-program.ts";

const PUBLISH_ENTRY = join(import.meta.dirname, "publish-program.ts");
const GROUP = "workers";
const SUBSCRIBER = "worker-0";
const RECEIVES_PER_SECOND = 25;
const RECEIVE_MESSAGES = 10;
const CLIENTS = 16;
const MAX_CLIENTS = 256;
/** After the load began: the first publishes make connections and statements. */
const WARM_UP_MS = 1000;

export interface NotifySize {
  pairs: number;
  windowMs: number;
  ratePerSecond: number;
}

export interface NotifyFigures {
  /** Hints that reached the tenant object, a second of the windows with the load. */
  perSecond: number;
  /** p99 of receives beside the load by p99 alone. */
  ratio: number;
  aloneP50: number;
  aloneP99: number;
  besideP50: number;
  besideP99: number;
  /** Publishes a second that the load reached, mean of its windows; and what it was asked for. */
  publishedPerSecond: number;
  askedPerSecond: number;
}

/**
 * Receives of one topic, 10 messages each at an even 25 a second, in windows that alternate: alone, and beside single
 * publishes to another topic of the same tenant, which has a group that nobody receives for.
 */
export async function measureNotify(place: VitessPlace, size: NotifySize): Promise<NotifyFigures> {
  return withServedPlace(place, { metered: true }, async ({ url, token }) => {
    const meter = await MeterReader.open(url);
    const load = new ChildProgram<PublishOrder | "stop", PublishAnswer>("the publisher", PUBLISH_ENTRY);
    try {
      const busy: Target = { url, token, tenant: TENANT, topic: "busy" };
      const quiet = { ...busy, topic: "quiet" };
      const order = { target: busy, partitions: PARTITIONS, ratePerSecond: size.ratePerSecond };
      await withClients(busy, 1, async ([client]) => {
        await client?.call("PUT", `topics/${busy.topic}/groups/${GROUP}`, {});
      });
      const source = new MessageSource(PARTITIONS);
      const found = { alone: [] as number[], beside: [] as number[], notifies: 0, besideMs: 0, rate: 0 };
      // The first window warms up.
      for (let pair = 0; pair <= size.pairs; pair++) {
        await fillBacklog(quiet, source, size.windowMs);
        const alone = await receiveFor(quiet, size.windowMs);
        if (pair === 0) continue;
        found.alone.push(...alone);
        await fillBacklog(quiet, source, size.windowMs);
        await load.ask(order);
        await pause(WARM_UP_MS);
        await meter.take();
        const startedAtMs = performance.now();
        found.beside.push(...(await receiveFor(quiet, size.windowMs)));
        found.notifies += (await meter.take()).notifies;
        found.besideMs += performance.now() - startedAtMs;
        const { publishedPerSecond } = await load.ask<{ publishedPerSecond: number }>("stop");
        found.rate += publishedPerSecond / size.pairs;
      }
      return {
        perSecond: (found.notifies * 1000) / found.besideMs,
        ratio: percentile(found.beside, 0.99) / percentile(found.alone, 0.99),
        aloneP50: percentile(found.alone, 0.5),
        aloneP99: percentile(found.alone, 0.99),
        besideP50: percentile(found.beside, 0.5),
        besideP99: percentile(found.beside, 0.99),
        publishedPerSecond: found.rate,
        askedPerSecond: size.ratePerSecond,
      };
    } finally {
      load.end();
      meter.close();
    }
  });
}

/** As many messages as a window's receives take. */
async function fillBacklog(target: Target, source: MessageSource, windowMs: number): Promise<void> {
  await withClients(target, 1, (clients) =>
    publishAll(clients, source, receivesIn(windowMs) * RECEIVE_MESSAGES),
  );
}

function receivesIn(windowMs: number): number {
  return Math.round((windowMs * RECEIVES_PER_SECOND) / 1000);
}

/** How long each receive took, in ms; sent in time whatever the ones before take. Settling goes its own way. */
async function receiveFor(target: Target, windowMs: number): Promise<number[]> {
  const tookMs: number[] = [];
  const pool = new ClientPool(target, MAX_CLIENTS);
  const receiveOne = async (client: QueueClient): Promise<void> => {
    const sentAtMs = performance.now();
    const { receipts } = await client.receive(GROUP, SUBSCRIBER, RECEIVE_MESSAGES, 0);
    tookMs.push(performance.now() - sentAtMs);
    if (receipts.length === 0) throw new Error("a receive found nothing where a backlog is");
    await client.settle(GROUP, SUBSCRIBER, receipts);
  };
  try {
    await pool.fill(CLIENTS);
    const startAtMs = performance.now();
    const all: Promise<void>[] = [];
    for (let sent = 0; sent < receivesIn(windowMs); sent++) {
      const waitMs = startAtMs + (sent * 1000) / RECEIVES_PER_SECOND - performance.now();
      if (waitMs > 0) await pause(waitMs);
      const receiving = pool.use(receiveOne);
      // Seen below.
      receiving.catch(() => {});
      all.push(receiving);
    }
    await Promise.all(all);
    return tookMs;
  } finally {
    pool.close();
  }
}
