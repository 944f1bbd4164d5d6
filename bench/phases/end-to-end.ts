import { setTimeout as pause } from "node:timers/promises";
import { Flow } from "../load/flow.ts";
import { MessageSource } from "../load/messages.ts";
import { TENANT, withServer } from "../server.ts";

export const PARTITIONS = 64;
const WARM_UP_MS = 3000;
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
  return withServer(null, async ({ url, token }) => {
    const target = { url, token, tenant: TENANT, topic: "end-to-end" };
    const source = new MessageSource(PARTITIONS);
    const flow = new Flow({ target, group: "workers", source, ratePerSecond: null });
    await flow.start();
    try {
      await pause(WARM_UP_MS);
      return { ...(await watch(flow, size.windowMs)), redelivered: flow.seen.again };
    } finally {
      await flow.stop();
    }
  });
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
