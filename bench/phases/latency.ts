import { MessageSource } from "../load/messages.ts";
import { measurePaced } from "../load/paced.ts";
import { TENANT, withServer } from "../server.ts";
import { percentile } from "../statistics.ts";
import { PARTITIONS } from "./end-to-end.ts";

const RATE_PER_SECOND = 200;
const WARM_UP_MS = 2000;

export interface LatencyFigures {
  /** Milliseconds. */
  p50: number;
  p99: number;
  max: number;
  samples: number;
  /** The latest that a publish was sent after its planned time. */
  maxLateMs: number;
}

/** From publish to delivery in a waiting receive, at 200 messages a second. */
export async function measureLatency(size: { windowMs: number }): Promise<LatencyFigures> {
  return withServer(null, (server) => measureDelays(server, { ...size, ratePerSecond: RATE_PER_SECOND }));
}

export async function measureDelays(
  { url, token }: { url: string; token: string },
  { windowMs, ratePerSecond }: { windowMs: number; ratePerSecond: number },
): Promise<LatencyFigures> {
  const target = { url, token, tenant: TENANT, topic: "latency" };
  const { delaysMs, maxLateMs } = await measurePaced(target, new MessageSource(PARTITIONS), {
    ratePerSecond,
    warmUpMs: WARM_UP_MS,
    windowMs,
  });
  return {
    p50: percentile(delaysMs, 0.5),
    p99: percentile(delaysMs, 0.99),
    max: percentile(delaysMs, 1),
    samples: delaysMs.length,
    maxLateMs,
  };
}
