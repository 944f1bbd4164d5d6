import { DEGRADED_KINDS, type DegradedKind } from "./failure-kind.ts";
import { MAX_REASON_CHARS } from "./split-limits.ts";

/** `<kind>: <detail>`, cut to what is kept of a reason, and well-formed. */
export function degradedReason(kind: DegradedKind, detail: string): string {
  return `${kind}: ${detail.trim()}`.slice(0, MAX_REASON_CHARS).toWellFormed();
}

/** null: a reason that this code did not write. */
export function degradedKindOf(reason: string): DegradedKind | null {
  return DEGRADED_KINDS.find((kind) => reason.startsWith(`${kind}:`)) ?? null;
}
