import { fail } from "../../../core/failure.ts";
import type { SplitRouteView } from "../../../protocol/split-manager.ts";
import type { SplitState } from "../../../splitting/state/split-state.ts";
import type { Split } from "../split.ts";
import { routeView } from "../split-view.ts";

export function getSplitRoute(split: Split, { route }: { route: string }): SplitRouteView {
  return requireRoute(split.state(), route);
}

export function requireRoute(state: SplitState, name: string): SplitRouteView {
  const found = state.routes.find(({ route }) => route === name);
  return found === undefined ? fail("not-found", `there is no route ${name}`) : routeView(state, found);
}
