import type { HeadersBudget } from "../../core/headers-budget.ts";
import type { SqlRow } from "../../durable/ports.ts";
import type { Entry } from "../message-log.ts";
import { ENTRY_COLUMNS, entryOf, HEADED_COLUMNS, headedEntryOf } from "./message-rows.ts";

export interface ScannedPage {
  entries: Entry[];
  reachedEnd: boolean;
  /** The first entry after the page; null if there is none. */
  next: Entry | null;
}

/** Reads at most so many rows of a scan: those after an entry, or from its beginning. */
type ReadRows = (columns: string, after: Entry | null, maxRows: number) => SqlRow[];

/** Rows of one statement with headers: what it returns is in memory before its bytes are counted. */
const PART_ROWS = 100;

/** The page that a read asks for; `budget` is that of its whole scan. */
export function readPage(
  read: { maxEntries: number; withHeaders?: boolean },
  budget: HeadersBudget,
  readRows: ReadRows,
): ScannedPage {
  const { maxEntries } = read;
  if (read.withHeaders) return readPageWithHeaders(maxEntries, budget, readRows);
  // One more row than the page takes tells whether there is more.
  const found = readRows(ENTRY_COLUMNS, null, maxEntries + 1).map(entryOf);
  const next = found[maxEntries] ?? null;
  return { entries: found.slice(0, maxEntries), reachedEnd: next === null, next };
}

/** In parts until it is full of entries or of bytes. Nothing else runs between them, so it shows one instant. */
function readPageWithHeaders(maxEntries: number, budget: HeadersBudget, readRows: ReadRows): ScannedPage {
  const entries: Entry[] = [];
  for (;;) {
    const wanted = budget.isSpent ? 2 : Math.min(maxEntries - entries.length + 1, PART_ROWS);
    const rows = readRows(HEADED_COLUMNS, entries.at(-1) ?? null, wanted);
    for (const row of rows) {
      const { entry, headersBytes } = headedEntryOf(row);
      if (entries.length === maxEntries || !budget.takes(headersBytes, entries.length === 0)) {
        return { entries, reachedEnd: false, next: entry };
      }
      entries.push(entry);
    }
    if (rows.length < wanted) return { entries, reachedEnd: true, next: null };
  }
}
