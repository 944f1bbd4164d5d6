/** Offsets are a clock's microseconds since then, so far apart that the place in a batch fits between. */
const OFFSET_EPOCH_MS = Date.UTC(2020, 0, 1);

/** The lowest offset that is given at or after this time of the log's clock. */
export function offsetAtMs(logMs: number): number {
  return Math.max(0, (logMs - OFFSET_EPOCH_MS) * 1000);
}
