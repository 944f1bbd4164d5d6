import { setTimeout as pause } from "node:timers/promises";
import { Flow } from "../load/flow.ts";
import { MessageSource } from "../load/messages.ts";
import { TENANT, withServer } from "../server.ts";

export const PARTITIONS = 64;
const MIN_WARM_UP_MS = 2000;
/** Subscribers that are faster than producers never let the backlog fill. */
const MAX_WARM_UP_MS = 8000;
const SAMPLE_MS = 100;

export interface EndToEndFigures {
  /** Settled messages a second. */
  rate: number;
  /** Lowest and highest number of unsettled messages in the window. */
  minBacklog: number;
  maxBacklog: number;
  /** Messages that were delivered more than once, in the whole run. */
  redelivered: number;
}

/** Settled messages in a window in which publishing, receiving and settling all go on. */
export async function measureEndToEnd(size: { windowMs: number }): Promise<EndToEndFigures> {
  return withServer(null, async (server) => (await runFlow(server, size)).figures);
}

/** `settled`: in the whole run, what came before and after the window included. */
export async function runFlow(
  { url, token }: { url: string; token: string },
  { windowMs }: { windowMs: number },
): Promise<{ figures: EndToEndFigures; settled: number }> {
  const target = { url, token, tenant: TENANT, topic: "end-to-end" };
  const source = new MessageSource(PARTITIONS);
  const flow = new Flow({ target, group: "workers", source, ratePerSecond: null });
  const figures = await warmUpAndWatch(flow, windowMs);
  return { figures, settled: flow.settled };
}

/** The whole life of a flow that was not started yet. */
export async function warmUpAndWatch(flow: Flow, windowMs: number): Promise<EndToEndFigures> {
  await flow.start();
  let watched: Omit<EndToEndFigures, "redelivered">;
  try {
    await warmUp(flow);
    watched = await watch(flow, windowMs);
  } finally {
    await flow.stop();
  }
  return { ...watched, redelivered: flow.seen.again };
}

/** Until the backlog is as large as it gets: while it grows, publishing takes more than its part. */
async function warmUp(flow: Flow): Promise<void> {
  const startedAtMs = performance.now();
  for (let warmMs = 0; warmMs < MAX_WARM_UP_MS; warmMs = performance.now() - startedAtMs) {
    if (flow.isFull && warmMs >= MIN_WARM_UP_MS) return;
    await pause(SAMPLE_MS);
    flow.check();
  }
}

async function watch(flow: Flow, windowMs: number): Promise<Omit<EndToEndFigures, "redelivered">> {
  const startedAtMs = performance.now();
  const settledBefore = flow.settled;
  let minBacklog = flow.backlog;
  let maxBacklog = flow.backlog;
  while (performance.now() - startedAtMs < windowMs) {
    await pause(SAMPLE_MS);
    flow.check();
    minBacklog = Math.min(minBacklog, flow.backlog);
    maxBacklog = Math.max(maxBacklog, flow.backlog);
  }
  const rate = ((flow.settled - settledBefore) * 1000) / (performance.now() - startedAtMs);
  if (minBacklog <= 0) throw new Error("the backlog was empty in the window: it measured the producers");
  return { rate, minBacklog, maxBacklog };
}
