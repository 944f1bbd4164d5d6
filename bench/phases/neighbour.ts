import { type ChildProcess, fork } from "node:child_process";
import { join } from "node:path";
import type { BusyAnswer, BusyOrder } from "../load/busy-tenant.ts";
import { MessageSource } from "../load/messages.ts";
import { measurePaced } from "../load/paced.ts";
import { NEIGHBOUR, TENANT, withServer } from "../server.ts";
import { percentile } from "../statistics.ts";
import { PARTITIONS } from "./end-to-end.ts";

const BUSY_ENTRY = join(import.meta.dirname, "../load/busy-tenant.ts");
/** Quiet, yet often enough that the slowest hundredth is more than one message. */
const RATE_PER_SECOND = 50;
const WARM_UP_MS = 500;
const ANSWER_DEADLINE_MS = 30_000;
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
    const busy = new BusyTenant(fork(BUSY_ENTRY));
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
        await busy.start(order);
        beside.push(...(await quiet()));
        rates.push(await busy.stop());
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

class BusyTenant {
  private readonly child: ChildProcess;

  constructor(child: ChildProcess) {
    this.child = child;
  }

  async start(order: BusyOrder): Promise<void> {
    await this.ask(order);
  }

  /** Returns the messages a second that it settled. */
  async stop(): Promise<number> {
    const answer = await this.ask("stop");
    if (!("settledPerSecond" in answer)) throw new Error("the busy tenant answered out of turn");
    return answer.settledPerSecond;
  }

  end(): void {
    this.child.kill("SIGKILL");
  }

  private ask(order: BusyOrder | "stop"): Promise<Exclude<BusyAnswer, { failed: string }>> {
    return new Promise((resolve, reject) => {
      const onExit = () => done(() => reject(new Error("the busy tenant's process ended")));
      const onMessage = (answer: BusyAnswer) =>
        done(() => {
          if ("failed" in answer) reject(new Error(`the busy tenant: ${answer.failed}`));
          else resolve(answer);
        });
      const timer = setTimeout(
        () => done(() => reject(new Error("the busy tenant does not answer"))),
        ANSWER_DEADLINE_MS,
      );
      const done = (act: () => void) => {
        clearTimeout(timer);
        this.child.off("message", onMessage);
        this.child.off("exit", onExit);
        act();
      };
      this.child.once("message", onMessage);
      this.child.once("exit", onExit);
      this.child.send(order);
    });
  }
}
