import type { SplitRouteView } from "../../../protocol/split-manager.ts";
import type { Split } from "../split.ts";
import { routeViews } from "../split-view.ts";

export function listSplitRoutes(split: Split): { routes: SplitRouteView[] } {
  return { routes: routeViews(split.state()) };
}
