import { fail } from "../../core/failure.ts";
import type { OverviewReply } from "../../protocol/tenant-calls.ts";
import type { Tenant, TopicState } from "../tenant.ts";
import type { GroupFigures } from "../topic-figures.ts";
import type { TopicSnapshot } from "../topic-snapshot.ts";
import { snapshotsOf, type TopicSnapshots } from "../topic-snapshots.ts";
import type { Count } from "../unsettled-count.ts";

/** Cheap topics are counted anew within this; after it what is there is shown, with its age. */
const REFRESH_WAIT_MS = 300;
/** For those of which nothing can be shown. Then fewer topics come, and `next` goes on with the others. */
const FIRST_WAIT_MS = 2000;
/** For the first one: an answer holds one at least. All three stay under the deadline of a call. */
const LAST_WAIT_MS = 5000;

/**
 * Topics in order of their names above `after`, at most `limit` of them; `next` is the last one shown, null at the end.
 * The figures are snapshots, at most MAX_OVERVIEW_AGE_MS old, counts exact to MAX_OVERVIEW_COUNT; whether a group
 * exists, is paused, and how many messages it expired and dropped is as of now. Changes nothing but what time did.
 */
export async function overview(
  tenant: Tenant,
  input: { after: string | null; limit: number },
): Promise<OverviewReply> {
  const snapshots = snapshotsOf(tenant);
  const topics = (await snapshots.topics()).filter(({ topic }) => topic > (input.after ?? ""));
  const page = topics.slice(0, input.limit);
  await bringUpToDate(
    snapshots,
    page.map(({ topic }) => topic),
  );
  const shown: OverviewReply["topics"] = [];
  for (const state of page) {
    const snapshot = snapshots.latest(state.topic);
    if (!snapshot) break;
    shown.push(topicView(state, snapshot));
  }
  if (shown.length === 0 && page.length > 0) {
    fail("store-unavailable", "the topics are still being counted", { retryAfterMs: 1000 });
  }
  return { topics: shown, next: shown.length < topics.length ? (shown.at(-1)?.topic ?? null) : null };
}

async function bringUpToDate(snapshots: TopicSnapshots, page: readonly string[]): Promise<void> {
  const stale = page.filter((topic) => !snapshots.isFresh(topic));
  if (stale.length > 0) await snapshots.count(stale, REFRESH_WAIT_MS);
  const missing = page.filter((topic) => !snapshots.latest(topic));
  if (missing.length > 0) await snapshots.count(missing, FIRST_WAIT_MS);
  const [first] = page;
  if (first !== undefined && !snapshots.latest(first)) await snapshots.count([first], LAST_WAIT_MS);
}

function topicView(state: TopicState, snapshot: TopicSnapshot): OverviewReply["topics"][number] {
  const { topic, messages, deadLetters } = snapshot;
  return {
    topic,
    messages: messages.count,
    ...atLeast(messages),
    oldestPublishedAt: snapshot.oldestPublishedAtMs,
    deadLetters: deadLetters.count,
    ...(deadLetters.atLeast ? { deadLettersAtLeast: true as const } : {}),
    takenAt: snapshot.takenAtMs,
    groups: snapshot.groups.flatMap((figures) => groupView(state, figures)),
  };
}

/** Nothing for a group that was deleted since. */
function groupView(state: TopicState, figures: GroupFigures): OverviewReply["topics"][number]["groups"] {
  const live = state.groups.get(figures.group);
  if (live?.record.generation !== figures.generation) return [];
  const { expired, dropped } = live.gone ? figures : live.progress;
  return [
    {
      group: figures.group,
      paused: live.record.settings.paused,
      backlog: figures.backlog.count,
      ...atLeast(figures.backlog),
      inFlight: figures.inFlight,
      subscribers: figures.subscribers,
      oldestUnsettledAt: figures.oldestUnsettledAtMs,
      expired,
      dropped,
    },
  ];
}

function atLeast(count: Count): { atLeast?: true } {
  return count.atLeast ? { atLeast: true } : {};
}
