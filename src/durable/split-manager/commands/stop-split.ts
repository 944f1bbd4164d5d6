import type { SplitView } from "../../../protocol/split-manager.ts";
import type { Split } from "../split.ts";
import { splitView } from "../split-view.ts";

export function stopSplit(split: Split): SplitView {
  split.change({ kind: "stop" });
  return splitView(split);
}
