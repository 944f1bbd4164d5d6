import { join } from "node:path";
import type { BusyAnswer, BusyOrder } from "../load/busy-tenant.ts";
import { ChildProgram } from "../load/child-program.ts";
import { MessageSource } from "../load/messages.ts";
import { measurePaced } from "../load/paced.ts";
import { NEIGHBOUR, TENANT, withServer } from "../server.ts";
import { percentile } from "../statistics.ts";
import { PARTITIONS } from "./end-to-end.ts";

const BUSY_ENTRY = join(import.meta.dirname, "../load/busy-tenant.ts");
/** Quiet, yet often enough that the slowest hundredth is more than one message. */
const RATE_PER_SECOND = 50;
const WARM_UP_MS = 500;
/** A neighbour below this part of what it should do is not the one that was asked for. */
const LEAST_RATE_PART = 0.5;

export interface NeighbourFigures {
  /** p99 beside the busy tenant by p99 alone. */
  ratio: number;
  /** Milliseconds, over all windows of a kind. */
  aloneP99: number;
  besideP99: number;
  aloneP50: number;
  besideP50: number;
  /** Messages a second that the busy tenant settled, mean of its windows. */
  busyRate: number;
}

/**
 * Publish-to-delivery of a quiet tenant with a waiting receive, in windows that alternate: alone, and beside a
 * tenant that runs the end-to-end flow at `busyRate` messages a second on the same server.
 */
export async function measureNeighbour(
  size: { pairs: number; windowMs: number },
  busyRate: number,
): Promise<NeighbourFigures> {
  return withServer(null, async ({ url, token }) => {
    const busy = new ChildProgram<BusyOrder | "stop", BusyAnswer>("the busy tenant", BUSY_ENTRY);
    try {
      const order: BusyOrder = {
        target: { url, token, tenant: NEIGHBOUR, topic: "busy" },
        partitions: PARTITIONS,
        ratePerSecond: busyRate,
      };
      const target = { url, token, tenant: TENANT, topic: "quiet" };
      const source = new MessageSource(PARTITIONS);
      const quiet = async (): Promise<number[]> =>
        (
          await measurePaced(target, source, {
            ratePerSecond: RATE_PER_SECOND,
            warmUpMs: WARM_UP_MS,
            windowMs: size.windowMs,
          })
        ).delaysMs;
      const alone: number[] = [];
      const beside: number[] = [];
      const rates: number[] = [];
      for (let pair = 0; pair < size.pairs; pair++) {
        alone.push(...(await quiet()));
        await busy.ask(order);
        beside.push(...(await quiet()));
        rates.push((await busy.ask<{ settledPerSecond: number }>("stop")).settledPerSecond);
      }
      return figuresOf(alone, beside, rates, busyRate);
    } finally {
      busy.end();
    }
  });
}

function figuresOf(alone: number[], beside: number[], rates: number[], asked: number): NeighbourFigures {
  const busyRate = rates.reduce((sum, rate) => sum + rate, 0) / rates.length;
  if (busyRate < asked * LEAST_RATE_PART) {
    throw new Error(`the busy tenant settled ${busyRate} messages a second, not ${asked}`);
  }
  const aloneP99 = percentile(alone, 0.99);
  const besideP99 = percentile(beside, 0.99);
  return {
    ratio: besideP99 / aloneP99,
    aloneP99,
    besideP99,
    aloneP50: percentile(alone, 0.5),
    besideP50: percentile(beside, 0.5),
    busyRate,
  };
}
