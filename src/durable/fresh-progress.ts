import type { GroupRecord } from "../log/message-log.ts";
import type { GroupProgress } from "./tables/group-progress.ts";

/** Delayed messages due by now are taken by the scan itself; later ones arrive when due. */
export function freshProgress(record: GroupRecord, logNowMs: number): GroupProgress {
  return {
    generation: record.generation,
    scanOffset: record.startOffset,
    due: { dueAtMs: logNowMs, offset: Number.MAX_SAFE_INTEGER },
    lastEpoch: 0,
    resetEpoch: 0,
    expired: 0,
    dropped: 0,
    recoverThrough: 0,
    sureOffset: record.startOffset,
    knownOffsets: "",
  };
}
