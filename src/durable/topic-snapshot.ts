import { deadLetterTopicOf } from "../core/settings.ts";
import { MAX_OVERVIEW_COUNT } from "../protocol/overview.ts";
import { catchUp } from "./catch-up.ts";
import { MeasuredLog } from "./measured-log.ts";
import { nextTurn } from "./next-turn.ts";
import type { Tenant } from "./tenant.ts";
import { countStored, figuresOf, type GroupFigures, oldestPublishedAtMs } from "./topic-figures.ts";
import type { Count, CountBounds } from "./unsettled-count.ts";

/** A topic's figures, counted between two instants: whatever happened before the first is in them. */
export interface TopicSnapshot {
  topic: string;
  takenAtMs: number;
  endedAtMs: number;
  messages: Count;
  oldestPublishedAtMs: number | null;
  deadLetters: Count;
  /** In order of their names. */
  groups: GroupFigures[];
}

const BOUNDS: CountBounds = { maxCount: MAX_OVERVIEW_COUNT, maxLaneReads: 100 };
/** A call of the log in this object, in rows: what it takes beside its rows. */
const INSIDE_CALL_ROWS = 10;
/** A call of a log outside is a statement: by the pause that follows, fifty in a second at most. */
const OUTSIDE_CALL_ROWS = 200;
/** A lane in memory is looked at faster than a row. */
const LANES_PER_ROW = 4;

/**
 * Counts a topic and its groups, and says in rows what that cost. Gives control back between groups, so that no
 * receive waits for more than one of them. Rejects with what the log says when it fails.
 */
export async function takeTopicSnapshot(
  tenant: Tenant,
  topic: string,
): Promise<{ snapshot: TopicSnapshot; rows: number }> {
  const { maxCount } = BOUNDS;
  const log = new MeasuredLog(tenant.log, tenant.embedded ? INSIDE_CALL_ROWS : OUTSIDE_CALL_ROWS);
  const takenAtMs = tenant.nowMs();
  const messages = await countStored({ log }, topic, maxCount);
  const oldest = messages.count > 0 ? await oldestPublishedAtMs({ log }, topic) : null;
  const deadLetters = await countStored({ log }, deadLetterTopicOf(topic), maxCount);
  const groups: GroupFigures[] = [];
  const names = (await tenant.topic(topic))?.groups.keys() ?? [];
  for (const group of [...names].sort()) {
    await nextTurn(tenant);
    log.rows += (await catchUp(tenant, { topic, group })).entriesRead;
    const figures = await figuresOf(tenant, { topic, group }, BOUNDS, { log });
    if (!figures) continue;
    log.rows += Math.ceil(figures.lanes / LANES_PER_ROW);
    groups.push(figures);
  }
  const times = { takenAtMs, endedAtMs: tenant.nowMs() };
  const snapshot = { topic, ...times, messages, oldestPublishedAtMs: oldest, deadLetters, groups };
  return { snapshot, rows: log.rows };
}
