import type { LocalServer } from "../../src/local/local-server.ts";
import { MessageSource } from "../load/messages.ts";
import { type QueueClient, type Target, withClients } from "../load/queue-client.ts";
import { TENANT, withServer } from "../server.ts";
import { median } from "../statistics.ts";

export const BATCHES = [1, 10, 100] as const;
const CONNECTIONS = 32;
const PARTITIONS = 64;
const FLOOR_ENTRY = "floor/worker.ts";

export interface BatchRates {
  batch1: number;
  batch10: number;
  batch100: number;
}

export interface PublishFigures {
  /** Messages a second, medians of the rounds. */
  publish: BatchRates;
  floor: BatchRates;
}

/**
 * Product and floor take turns in short rounds on two servers that run side by side, one idle while the other
 * works, so that a drift of the machine meets both.
 */
export async function measurePublish(
  size: { rounds: number; roundMs: number },
  progress: (line: string) => void,
): Promise<PublishFigures> {
  return withServer(null, (product) =>
    withServer(FLOOR_ENTRY, async (floor) => {
      const figures: PublishFigures = { publish: noRates(), floor: noRates() };
      for (const batch of BATCHES) {
        const rates: { publish: number[]; floor: number[] } = { publish: [], floor: [] };
        const sides = [
          { into: rates.publish, target: targetOf(product, batch) },
          { into: rates.floor, target: targetOf(floor, batch) },
        ].map((side) => ({ ...side, source: new MessageSource(PARTITIONS) }));
        // The first round warms up.
        for (let round = 0; round <= size.rounds; round++) {
          for (const { into, target, source } of sides) {
            const rate = await publishRate(target, source, batch, size.roundMs);
            if (round > 0) into.push(rate);
          }
        }
        const key = `batch${batch}` as const;
        figures.publish[key] = median(rates.publish);
        figures.floor[key] = median(rates.floor);
        progress(`publish at batch ${batch}: ${shown(rates.publish)} msg/s, floor ${shown(rates.floor)}`);
      }
      return figures;
    }),
  );
}

function noRates(): BatchRates {
  return { batch1: 0, batch10: 0, batch100: 0 };
}

function targetOf({ url, token }: LocalServer, batch: number): Target {
  return { url, token, tenant: TENANT, topic: `batch${batch}` };
}

function shown(rates: readonly number[]): string {
  return rates.map((rate) => Math.round(rate)).join(" ");
}

/** Messages a second that were answered, from the first request to the last reply. */
export async function publishRate(
  target: Target,
  source: MessageSource,
  batch: number,
  roundMs: number,
): Promise<number> {
  return withClients(target, CONNECTIONS, async (clients) => {
    const before = source.made;
    const startedAtMs = performance.now();
    const endAtMs = startedAtMs + roundMs;
    await Promise.all(clients.map((client) => publishUntil(client, source, batch, endAtMs)));
    return ((source.made - before) * 1000) / (performance.now() - startedAtMs);
  });
}

async function publishUntil(
  client: QueueClient,
  source: MessageSource,
  batch: number,
  endAtMs: number,
): Promise<void> {
  while (performance.now() < endAtMs) await client.publish(source.batch(batch), batch);
}
