import type { HeadersBudget } from "../../core/headers-budget.ts";
import { type Entry, MAX_SCAN_HEADERS_BYTES } from "../message-log.ts";
import type { HeadedEntry } from "./message-rows.ts";

/** A page as its statement showed it: an entry that lacks headers has some that were too long to come along. */
export interface FoundPage {
  found: HeadedEntry[];
  reachedEnd: boolean;
  withHeaders: boolean;
}

/** `found` was read with room for one more than the page takes: that one tells whether there is more. */
export function cutPage(
  found: readonly HeadedEntry[],
  { maxEntries, withHeaders = false }: { maxEntries: number; withHeaders?: boolean },
  budget: HeadersBudget,
): FoundPage {
  let fitting = Math.min(found.length, maxEntries);
  if (withHeaders) {
    const beyond = found.findIndex(({ headersBytes }, place) => {
      return place === maxEntries || !budget.takes(headersBytes, place === 0);
    });
    if (beyond >= 0) fitting = beyond;
  }
  return { found: found.slice(0, fitting), reachedEnd: fitting === found.length, withHeaders };
}

/** Offsets whose headers are still to be read, each once, in parts that bring MAX_SCAN_HEADERS_BYTES or one entry's. */
export function missingHeaders(pages: readonly FoundPage[]): number[][] {
  const missing = new Map<number, number>();
  for (const { found, withHeaders } of pages) {
    for (const { entry, headersBytes } of withHeaders ? found : []) {
      if (entry.headers === undefined) missing.set(entry.offset, headersBytes);
    }
  }
  const parts: number[][] = [];
  let part: number[] = [];
  let partBytes = 0;
  for (const [offset, bytes] of missing) {
    if (part.length > 0 && partBytes + bytes > MAX_SCAN_HEADERS_BYTES) {
      parts.push(part);
      [part, partBytes] = [[], 0];
    }
    part.push(offset);
    partBytes += bytes;
  }
  if (part.length > 0) parts.push(part);
  return parts;
}

/** Entries that were deleted before their headers could be read are left out, as if that had been a moment earlier. */
export function pageWith(
  { found, reachedEnd, withHeaders }: FoundPage,
  headersByOffset: ReadonlyMap<number, string>,
): { entries: Entry[]; reachedEnd: boolean } {
  if (!withHeaders) return { entries: found.map(({ entry }) => entry), reachedEnd };
  const entries = found.flatMap(({ entry }) => {
    const headers = entry.headers ?? headersByOffset.get(entry.offset);
    return headers === undefined ? [] : [{ ...entry, headers }];
  });
  return { entries, reachedEnd };
}
