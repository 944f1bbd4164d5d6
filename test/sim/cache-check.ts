import type { Lane } from "../../src/core/lane.ts";
import type { LiveRoute } from "../../src/durable/group-routes.ts";
import type { GroupState } from "../../src/durable/group-state.ts";
import { loadGroup } from "../../src/durable/load-group.ts";
import type { Sql } from "../../src/durable/ports.ts";
import type { RouteRow } from "../../src/durable/tables/routes.ts";
import { Tables } from "../../src/durable/tables/tables.ts";
import type { Tenant, TopicState } from "../../src/durable/tenant.ts";
import type { History } from "./history.ts";

/** Steps between two looks at groups that changed, with and without a row being written: a difference stays. */
const WROTE_STEPS = 2;
const QUIET_STEPS = 8;

/**
 * G11, from inside: what the object remembers of each group equals what its rows say. A second copy is loaded
 * from the rows and compared; only what is memory's alone (windows, who waits) is left out.
 */
export class CacheCheck {
  private readonly tables: Tables;
  private readonly history: History;
  private readonly changed = new Set<GroupState>();
  private wrote = false;
  private steps = 0;

  constructor(sql: Sql, history: History) {
    this.tables = new Tables(readOnly(sql));
    this.history = history;
  }

  /** Notes which groups each transaction of this tenant changes. */
  follow(tenant: Tenant): void {
    this.changed.clear();
    const change = tenant.change.bind(tenant);
    tenant.change = (group, act) => {
      this.changed.add(group);
      return change(group, act);
    };
  }

  noteWrite(query: string): void {
    if (!query.includes("queue_messages")) this.wrote = true;
  }

  afterStep(tenant: Tenant): void {
    if (this.changed.size === 0) return;
    this.steps += 1;
    if (this.steps < (this.wrote ? WROTE_STEPS : QUIET_STEPS)) return;
    this.wrote = false;
    this.steps = 0;
    const topics = (tenant as unknown as { topics: ReadonlyMap<string, TopicState> }).topics;
    for (const changed of this.changed) {
      const state = topics.get(changed.key.topic);
      const group = state?.groups.get(changed.key.group);
      if (state && group && !group.gone) this.compare(group, state, tenant.nowMs());
    }
    this.changed.clear();
  }

  private compare(group: GroupState, { settings }: TopicState, nowMs: number): void {
    const rows = this.tables.groupProgress.load(group.key);
    // Rows of an earlier group of the name: the next load removes them.
    if (rows && rows.generation !== group.record.generation) return;
    const fresh = loadGroup(this.tables, group.key, group.record, settings, group.log, nowMs);
    const difference = firstDifference(group, fresh, rows !== null);
    if (!difference) return;
    this.history.violate("G11", `the cache of ${group.key.group} differs from its rows: ${difference}`);
  }
}

function firstDifference(group: GroupState, fresh: GroupState, hasProgress: boolean): string | null {
  return (
    progressDifference(group, fresh, hasProgress) ??
    laneDifference(group, fresh) ??
    routeDifference(group, fresh) ??
    subscriberDifference(group, fresh)
  );
}

function progressDifference(group: GroupState, fresh: GroupState, hasProgress: boolean): string | null {
  const { due } = group.progress;
  const { due: savedDue } = fresh.progress;
  const mine = figures(group.progress);
  const saved = figures(fresh.progress);
  if (!same(mine, saved)) return `progress is ${text(mine)}, rows say ${text(saved)}`;
  // The due cursor may be ahead of its row as long as no lane changed with it.
  if (!hasProgress || savedDue.dueAtMs < due.dueAtMs) return null;
  if (savedDue.dueAtMs === due.dueAtMs && savedDue.offset <= due.offset) return null;
  return `the due cursor is ${text(due)}, rows say ${text(savedDue)}`;
}

function figures(progress: GroupState["progress"]): unknown {
  const { generation, scanOffset, lastEpoch, resetEpoch, expired, dropped } = progress;
  return { generation, scanOffset, lastEpoch, resetEpoch, expired, dropped };
}

function laneDifference(group: GroupState, fresh: GroupState): string | null {
  for (const { partitionKey, routeId } of [...group.lanes.lanes(), ...fresh.lanes.lanes()]) {
    const mine = viewOf(group.lane(partitionKey, routeId));
    const saved = viewOf(fresh.lane(partitionKey, routeId));
    if (!same(mine, saved)) {
      return `lane ${partitionKey} of ${routeId} is ${text(mine)}, rows say ${text(saved)}`;
    }
  }
  if (group.lanes.exceptionCount !== fresh.lanes.exceptionCount) {
    return `${group.lanes.exceptionCount} exceptions are counted, rows hold ${fresh.lanes.exceptionCount}`;
  }
  if ([...group.lanes.dying()].length !== [...fresh.lanes.dying()].length) {
    return `${[...group.lanes.dying()].length} lanes have dead letters to copy, by the rows ${[...fresh.lanes.dying()].length}`;
  }
  return null;
}

function viewOf(lane: Lane | undefined): unknown {
  if (!lane || (!lane.hasUnsettled && !lane.lease)) return null;
  const { lease, runs, exceptions } = lane;
  const owner = lease && [lease.subscriber, lease.epoch, lease.acquiredAtMs];
  // A lane with everything settled has no row of its own, so how far it was walked is not kept.
  if (!lane.hasUnsettled) return [owner];
  return [
    owner,
    lane.walkedOffset,
    lane.hasMore,
    runs.map((run) => [
      run.nonce,
      run.subscriber,
      run.epoch,
      run.visibleUntilMs,
      run.deliveredAtMs ?? null,
      run.messages.map(({ offset, bodyBytes }) => [offset, bodyBytes]),
      run.sortedBy ?? 0,
    ]),
    exceptions.map((e) => [
      e.offset,
      e.bodyBytes,
      e.state,
      e.attempt,
      e.atMs,
      e.nonce,
      e.subscriber,
      e.epoch,
      e.reason,
      e.deliveredAtMs ?? null,
      e.sortedBy ?? 0,
    ]),
    lane.pending,
  ];
}

/** Also those that have ended and that something pending still names. */
function routeDifference(group: GroupState, fresh: GroupState): string | null {
  const [mine, saved] = [group, fresh].map(({ routes }) => {
    const { live, ended, application } = routes as unknown as {
      live: ReadonlyMap<number, LiveRoute>;
      ended: ReadonlyMap<number, RouteRow>;
      application: RouteRow | null;
    };
    // Until the difference is worth it, the expiry is memory's alone.
    const rows = [...live.values()].map(({ savedExpiresAtMs, ...route }) => ({
      ...route,
      expiresAtMs: savedExpiresAtMs,
    }));
    return [...rows, ...ended.values(), ...(application ? [application] : [])]
      .sort((a, b) => a.routeId - b.routeId)
      .map((row) => [
        row.routeId,
        row.route,
        row.filter,
        row.ttlMs,
        row.startedAtMs,
        row.expiresAtMs,
        row.ended,
        row.delivered,
      ]);
  });
  return same(mine, saved) ? null : `routes are ${text(mine)}, rows say ${text(saved)}`;
}

function subscriberDifference(group: GroupState, fresh: GroupState): string | null {
  for (const name of new Set([...group.subscribers.keys(), ...fresh.subscribers.keys()])) {
    const mine = group.subscribers.get(name)?.savedExpiresAtMs;
    const saved = fresh.subscribers.get(name)?.expiresAtMs;
    if (mine !== saved) return `subscriber ${name} expires at ${mine}, rows say ${saved}`;
    const party = group.subscribers.get(name)?.routeId;
    const savedParty = fresh.subscribers.get(name)?.routeId;
    if (party !== savedParty) return `subscriber ${name} is of route ${party}, rows say ${savedParty}`;
  }
  return null;
}

function same(a: unknown, b: unknown): boolean {
  return text(a) === text(b);
}

function text(value: unknown): string {
  return JSON.stringify(value);
}

/** The second copy must change nothing. */
function readOnly(sql: Sql): Sql {
  return {
    all: (query, ...params) => sql.all(query, ...params),
    run: () => {
      throw new Error("the second copy only reads");
    },
    transaction: (run) => run(),
    sizeBytes: () => sql.sizeBytes(),
  };
}
