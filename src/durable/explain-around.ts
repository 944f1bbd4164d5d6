import type { LaneShares, Surroundings } from "../core/explain.ts";
import type { Lane } from "../core/lane.ts";
import { dispatchRules, drainEndAtMs, planHandOvers } from "../core/plan-take.ts";
import { mayTake, type ShareInput } from "../core/share.ts";
import type { WalkRules } from "../core/walk.ts";
import { askingSubscribers } from "./asking.ts";
import { busiestOf } from "./deliveries-under-way.ts";
import type { GroupState } from "./group-state.ts";
import type { Tenant } from "./tenant.ts";

/**
 * What decides beside the lanes, at one instant. Inside `Tenant.change`, so that what time did is done; changes
 * nothing. Cost: that of planning one take.
 */
export function surroundingsOf(
  tenant: Tenant,
  group: GroupState,
  routeId: number,
  logRetryAtMs: number | null,
  nowMs: number,
): Surroundings {
  const { paused, visibilityTimeoutMs } = group.record.settings;
  const rules = dispatchRules(group.lanes.of(routeId), routeId, group.activeRules(nowMs, routeId));
  const asking = askingSubscribers(tenant, group, nowMs, routeId);
  const party = [...group.subscribers].filter(([, subscriber]) => subscriber.routeId === routeId);
  return {
    paused,
    logRetryAtMs,
    rules,
    visibilityTimeoutMs,
    expiresAtMs: new Map(party.map(([name, { expiresAtMs }]) => [name, expiresAtMs])),
    asking,
    delivering: new Set(group.lanes.of(routeId).deliveringTo()),
    busiest: asking.size === 0 ? busiestOf(group, routeId, nowMs) : null,
    shares: paused || asking.size === 0 ? NO_SHARES : sharesOf(group, routeId, asking, rules),
  };
}

const NO_SHARES: LaneShares = { freed: new Set(), draining: new Map(), someMayTake: true };

function sharesOf(
  group: GroupState,
  routeId: number,
  asking: ReadonlySet<string>,
  rules: WalkRules,
): LaneShares {
  const { drainingSince } = group;
  const { leaseDurationMs } = group.record.settings;
  const input = group.shareInput(asking, routeId);
  const plan = planHandOvers(group.lanes.of(routeId), input, rules, {
    sinceMs: drainingSince,
    leaseDurationMs,
  });
  const freed = new Set(plan.freed);
  const draining = new Map<Lane, number | null>();
  for (const lane of plan.draining) {
    if (!freed.has(lane)) draining.set(lane, drainEndAtMs(drainingSince.get(lane), leaseDurationMs, rules));
  }
  return { freed, draining, someMayTake: someMayTake(input, freed) };
}

/** Who holds the fewest lanes may take one more, if anybody may. */
function someMayTake(input: ShareInput, freed: ReadonlySet<Lane>): boolean {
  const heldLanes = new Map(input.heldLanes);
  for (const { lease } of freed) {
    if (lease) heldLanes.set(lease.subscriber, (heldLanes.get(lease.subscriber) ?? 0) - 1);
  }
  let fewest: string | null = null;
  for (const name of input.asking) {
    if (fewest === null || (heldLanes.get(name) ?? 0) < (heldLanes.get(fewest) ?? 0)) fewest = name;
  }
  return fewest !== null && mayTake({ ...input, heldLanes }, fewest) > 0;
}
