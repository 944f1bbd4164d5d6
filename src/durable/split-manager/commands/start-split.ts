import type { SplitView } from "../../../protocol/split-manager.ts";
import type { Split } from "../split.ts";
import { splitView } from "../split-view.ts";

export function startSplit(split: Split): SplitView {
  split.change({ kind: "start", splitId: split.ports.chance.nonce() });
  return splitView(split);
}
