import type { Explanation } from "../../src/protocol/tenant-calls.ts";

/** What an explanation foretells by its next change, and where it may not be held to it. */

const OF_SUBSCRIBERS = ["no-subscriber", "nobody-asking"];
const OF_SHARES = ["lease", "share"];

/** What the next change is about; where shares decide, whose the lane is apart. */
export function fateOf(
  { state, until, attempt, subscriber, blockers }: Explanation,
  shared: boolean,
): unknown {
  const apart = shared ? [...OF_SUBSCRIBERS, ...OF_SHARES] : OF_SUBSCRIBERS;
  const kinds = blockers.map(({ kind }) => kind).filter((kind) => !apart.includes(kind));
  const mayGo = shared && state === "waiting" && kinds.length === 0;
  return { state: mayGo ? "deliverable" : state, until, attempt, subscriber, kinds };
}

/** Others ask than who has the lane: then time in other lanes may move this one. */
export function sharesDecide({ blockers, lease }: Explanation, asking: readonly string[]): boolean {
  if (asking.length === 0) return false;
  const isHeld = blockers.some(({ kind }) => OF_SHARES.includes(kind));
  return isHeld || (lease !== null && asking.some((name) => name !== lease.subscriber));
}

/** A lane does not know what else of its partition is delayed, and may come before. */
export function othersCome(one: Explanation, all: Iterable<Explanation>, byMs: number): boolean {
  return [...all].some(({ partitionKey, offset, state, until }) => {
    const isOther = partitionKey === one.partitionKey && offset !== one.offset;
    return isOther && state === "delayed" && (until ?? 0) <= byMs;
  });
}
