import type { SplitView } from "../../../protocol/split-manager.ts";
import type { Split } from "../split.ts";
import { splitView } from "../split-view.ts";

export function getSplit(split: Split): SplitView {
  return splitView(split);
}
