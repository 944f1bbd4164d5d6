import { setTimeout as pause } from "node:timers/promises";
import { MessageSource, Seen } from "../load/messages.ts";
import { addMeters, MeterReader, NO_ROWS } from "../load/meter.ts";
import { type QueueClient, type Target, withClients } from "../load/queue-client.ts";
import { consumeAll, publishAll } from "../load/queue-work.ts";
import type { Meter } from "../metered/worker.ts";
import { TENANT, withServer } from "../server.ts";
import { median, ratioOfMedians } from "../statistics.ts";
import { PARTITIONS } from "./end-to-end.ts";

const METERED_ENTRY = "metered/worker.ts";
const RECEIVES = 50;
const RECEIVE_MESSAGES = 10;
const CLIENTS = 4;
const RETAIN_ROUND_MESSAGES = 20_000;
const GROUP = "workers";
const SUBSCRIBER = "worker-0";
/** Longer than the pause before the object reads ahead by itself, so that such reads are counted apart. */
const BETWEEN_MS = 30;

export interface GrowthSize {
  smallBacklog: number;
  largeBacklog: number;
  fewPartitions: number;
  manyPartitions: number;
  /** Messages in both, so that only the number of partitions differs. */
  partitionsBacklog: number;
  retained: number;
}

export interface GrowthFigures {
  /** Ratios of the medians of rows read and written by one receive of 10. */
  backlog: number;
  partitions: number;
  retained: number;
}

interface Shape {
  partitions: number;
  backlog: number;
  /** Settled before, each of a partition of its own, and not collected yet. */
  retained: number;
}

export async function measureGrowth(
  size: GrowthSize,
  progress: (line: string) => void,
): Promise<GrowthFigures> {
  const rowsOf = async (what: string, shape: Shape): Promise<number[]> => {
    const { receives, background } = await countReceives(shape);
    const rows = receives.map(({ rowsRead, rowsWritten }) => rowsRead + rowsWritten);
    const read = median(receives.map(({ rowsRead }) => rowsRead));
    const written = median(receives.map(({ rowsWritten }) => rowsWritten));
    progress(
      `${what}: a receive reads ${read} and writes ${written} rows (most ${Math.max(...rows)} together); ` +
        `background between two of them ${perReceive(background)}`,
    );
    return rows;
  };
  const { smallBacklog, largeBacklog, fewPartitions, manyPartitions, partitionsBacklog, retained } = size;
  const base = { partitions: PARTITIONS, backlog: smallBacklog, retained: 0 };
  const small = await rowsOf(`backlog ${smallBacklog}`, base);
  const large = await rowsOf(`backlog ${largeBacklog}`, { ...base, backlog: largeBacklog });
  const spread = { backlog: partitionsBacklog, retained: 0 };
  const few = await rowsOf(`${fewPartitions} partitions`, { ...spread, partitions: fewPartitions });
  const many = await rowsOf(`${manyPartitions} partitions`, { ...spread, partitions: manyPartitions });
  const beside = await rowsOf(`${retained} retained keys`, { ...base, retained });
  return {
    backlog: ratioOfMedians(large, small),
    partitions: ratioOfMedians(many, few),
    retained: ratioOfMedians(beside, small),
  };
}

function perReceive({ rowsRead, rowsWritten }: Meter): string {
  return `${rowsRead / RECEIVES} read, ${rowsWritten / RECEIVES} written`;
}

/** Each receive is counted by itself; its settling is left out. */
async function countReceives(shape: Shape): Promise<{ receives: Meter[]; background: Meter }> {
  return withServer(METERED_ENTRY, async ({ url, token }) => {
    const target: Target = { url, token, tenant: TENANT, topic: "growth" };
    const meter = await MeterReader.open(url);
    try {
      return await withClients(target, CLIENTS, async (clients) => {
        await retain(clients, shape.retained);
        await publishAll(clients, new MessageSource(shape.partitions, "p", shape.retained), shape.backlog);
        return await countEach(clients[0] as QueueClient, meter);
      });
    } finally {
      meter.close();
    }
  });
}

/**
 * In rounds, after each of which the subscribers leave: their leases on lanes without work count towards the
 * lanes that a group may keep at once.
 */
async function retain(clients: QueueClient[], count: number): Promise<void> {
  const source = new MessageSource(count, "retained");
  const seen = new Seen();
  while (source.made < count) {
    await publishAll(clients, source, Math.min(RETAIN_ROUND_MESSAGES, count - source.made));
    await consumeAll(clients, GROUP, seen, source.made);
    const subscribers = `topics/${clients[0]?.target.topic}/groups/${GROUP}/subscribers`;
    for (const [place, client] of clients.entries()) await client.delete(`${subscribers}/worker-${place}`);
  }
}

async function countEach(
  client: QueueClient,
  meter: MeterReader,
): Promise<{ receives: Meter[]; background: Meter }> {
  const receives: Meter[] = [];
  let background = NO_ROWS;
  for (let receive = 0; receive <= RECEIVES; receive++) {
    await pause(BETWEEN_MS);
    const between = await meter.take();
    const { receipts } = await client.receive(GROUP, SUBSCRIBER, RECEIVE_MESSAGES, 0);
    const rows = await meter.take();
    if (receipts.length !== RECEIVE_MESSAGES) {
      throw new Error(`receive ${receive} got ${receipts.length} of ${RECEIVE_MESSAGES} messages`);
    }
    await client.settle(GROUP, SUBSCRIBER, receipts);
    await meter.take();
    // The first one makes the group and finds the lanes.
    if (receive === 0) continue;
    receives.push(rows);
    background = addMeters(background, between);
  }
  return { receives, background };
}
