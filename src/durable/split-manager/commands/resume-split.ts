import type { ResumeSplitInput, SplitView } from "../../../protocol/split-manager.ts";
import type { Split } from "../split.ts";
import { splitView } from "../split-view.ts";

export function resumeSplit(split: Split, { makeAgain = [] }: ResumeSplitInput): SplitView {
  split.change({ kind: "resume", makeAgain });
  return splitView(split);
}
