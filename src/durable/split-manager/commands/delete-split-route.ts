import type { Split } from "../split.ts";

/** Ends it; what is left in its shadow goes to the application's. */
export function deleteSplitRoute(split: Split, { route }: { route: string }): null {
  split.change({ kind: "deleteRoute", route });
  return null;
}
