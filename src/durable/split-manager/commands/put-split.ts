import type { PutSplitInput, SplitView } from "../../../protocol/split-manager.ts";
import type { Split } from "../split.ts";
import { splitView } from "../split-view.ts";

export function putSplit(split: Split, { prefix, sources }: PutSplitInput): SplitView {
  split.change({ kind: "declare", prefix, sources });
  return splitView(split);
}
