import type { Filter, LaneCounts, Route } from "../client/fairlane.ts";
import { filterText, shortFilter } from "../splitting/filter/format-filter.ts";
import { counted, countText } from "./figures.ts";

/** A filter as one would type it, or else its JSON. */
export function filterShown(filter: Filter): string {
  if ("everything" in filter) return "every message";
  return shortFilter(filter) ?? filterText(filter);
}

/** How many messages went where, in one line. */
export function countsLine(route: Route, application: LaneCounts): string {
  return `${route.route}: ${countsText(route)}; application: ${countsText(application)}`;
}

function countsText({ delivered, backlog, atLeast, inFlight, subscribers }: LaneCounts): string {
  const unsettled = `${countText(backlog, atLeast)} unsettled`;
  const underWay = inFlight > 0 ? `, ${inFlight} in flight` : "";
  const who = subscribers === 0 ? "no subscriber" : counted(subscribers, "subscriber");
  return `${delivered} delivered, ${unsettled}${underWay}, ${who}`;
}

/** What became of a route's messages; `application`: null where nobody could say. */
export function endedLine(route: Route, application: LaneCounts | null): string {
  const { delivered, backlog, atLeast } = route;
  const others = application === null ? "" : `, ${application.delivered} to the application`;
  return `route ${route.route} ended: ${counted(delivered, "message")} went to it${others}; ${countText(backlog, atLeast)} went back`;
}
