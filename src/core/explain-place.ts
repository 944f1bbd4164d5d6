import { type GroupView, isUnsettled, laneHolding, type UnsettledEntry } from "./unsettled.ts";

/**
 * Where a group has an entry of the log:
 *
 *   otherGroup  it is for another
 *   settled     nothing more comes of it
 *   lane        its lane holds it
 *   unread      no lane has it: not read yet, or delayed until it is due
 */
export type Place = "otherGroup" | "settled" | "lane" | "unread";

export function placeOf(view: GroupView, entry: UnsettledEntry): Place {
  if (entry.targetGroup !== null && entry.targetGroup !== view.group) return "otherGroup";
  if (!isUnsettled(view, entry)) return "settled";
  return laneHolding(view, entry.partitionKey, entry.offset) ? "lane" : "unread";
}
