import { FairlaneError } from "../../../core/failure.ts";
import { pathOf } from "../../../protocol/issues.ts";
import type { PutSplitRouteInput, SplitRouteView } from "../../../protocol/split-manager.ts";
import type { Filter } from "../../../splitting/filter/filter.ts";
import { parseFilter } from "../../../splitting/filter/parse-filter.ts";
import type { SplitState } from "../../../splitting/state/split-state.ts";
import type { Split } from "../split.ts";
import { requireRoute } from "./get-split-route.ts";

export function putSplitRoute(
  split: Split,
  { route, queue, filter, ttlMs }: PutSplitRouteInput,
): SplitRouteView {
  const own = filterOf(split.state(), queue, filter);
  const state = split.change({ kind: "putRoute", route, queue, filter: own, ttlMs });
  return requireRoute(state, route);
}

/** By the dialect of the queue's broker. A queue that is not known is for the phase machine to refuse. */
function filterOf({ sources }: SplitState, queue: string, filter: Filter): Filter {
  const source = sources.find((one) => one.queue === queue);
  if (source === undefined) return filter;
  const parsed = parseFilter(filter, source.provider);
  if (parsed.ok) return parsed.filter;
  throw new FairlaneError({
    code: "invalid-request",
    detail: `the filter is none for ${source.provider}`,
    issues: parsed.issues.map(({ path, message }) => ({ path: pathOf(["filter", ...path]), message })),
  });
}
