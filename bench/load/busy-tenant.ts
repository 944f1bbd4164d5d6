import { setTimeout as pause } from "node:timers/promises";
import { Flow } from "./flow.ts";
import { MessageSource } from "./messages.ts";
import type { Target } from "./queue-client.ts";

/**
 * A process of its own, so that making the load does not delay the clock of who measures beside it. It runs
 * a flow for each order and answers how many messages a second it settled.
 */
export interface BusyOrder {
  target: Target;
  partitions: number;
  ratePerSecond: number;
}
export type BusyAnswer = { ready: true } | { settledPerSecond: number } | { failed: string };

const GROUP = "workers";
const CHECK_MS = 50;
let running: { flow: Flow; startedAtMs: number } | null = null;
/** Numbers go on over all flows of the topic: none is a duplicate. */
let source: MessageSource | null = null;

function answer(value: BusyAnswer): void {
  process.send?.(value);
}

async function start({ target, partitions, ratePerSecond }: BusyOrder): Promise<void> {
  source ??= new MessageSource(partitions);
  const flow = new Flow({ target, group: GROUP, source, ratePerSecond });
  await flow.start();
  running = { flow, startedAtMs: performance.now() };
  answer({ ready: true });
  while (running?.flow === flow) {
    flow.check();
    await pause(CHECK_MS);
  }
}

async function stop(): Promise<void> {
  if (!running) throw new Error("nothing runs");
  const { flow, startedAtMs } = running;
  const settledPerSecond = (flow.settled * 1000) / (performance.now() - startedAtMs);
  running = null;
  await flow.stop();
  answer({ settledPerSecond });
}

process.on("message", (order: BusyOrder | "stop") => {
  (order === "stop" ? stop() : start(order)).catch((error: unknown) => {
    answer({ failed: error instanceof Error ? error.message : String(error) });
  });
});
// Whoever gave the orders is gone.
process.on("disconnect", () => process.exit(0));
