import type { TopicOverview } from "../client/fairlane.ts";

/** What flows is settled sooner, one or two retries at the longest default backoff included. */
export const STUCK_MS = 60_000;

/** Of all groups; null: they have settled everything. */
export function oldestUnsettledAt({ groups }: TopicOverview): number | null {
  const times = groups.map((group) => group.oldestUnsettledAt).filter((atMs) => atMs !== null);
  return times.length === 0 ? null : Math.min(...times);
}

/** The topic whose message waits longest, where that is long; null: nothing of these topics waits so long. */
export function mostStuckTopic(topics: readonly TopicOverview[]): string | null {
  let found: { topic: string; ageMs: number } | null = null;
  for (const each of topics) {
    const oldestAtMs = oldestUnsettledAt(each);
    const ageMs = oldestAtMs === null ? 0 : each.takenAt - oldestAtMs;
    if (ageMs >= STUCK_MS && ageMs > (found?.ageMs ?? 0)) found = { topic: each.topic, ageMs };
  }
  return found?.topic ?? null;
}
