import type { SplitView } from "../../../protocol/split-manager.ts";
import type { Split } from "../split.ts";
import { splitView } from "../split-view.ts";

export function resumeSplit(split: Split): SplitView {
  split.change({ kind: "resume" });
  return splitView(split);
}
