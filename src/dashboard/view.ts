import { HISTORY_MS, History } from "./history.ts";
import type { TabStorage } from "./session.ts";
import type { BoardState } from "./state.ts";

/** What a reload of the page goes on with. */
type View = Pick<BoardState, "pageStarts" | "topic" | "group">;

const VIEW_KEY = "fairlane.view";
const HISTORY_KEY = "fairlane.history";
/** Pages of topics behind each other that are worth coming back to. */
const MAX_KEPT_PAGES = 50;

export function loadView(storage: TabStorage, tenant: string): View | null {
  const kept = readJson(storage, VIEW_KEY);
  if (kept?.tenant !== tenant || !Array.isArray(kept.pageStarts)) return null;
  const pageStarts = kept.pageStarts.filter((start) => start === null || typeof start === "string");
  return {
    pageStarts: pageStarts.length === 0 ? [null] : pageStarts,
    topic: typeof kept.topic === "string" ? kept.topic : null,
    group: typeof kept.group === "string" ? kept.group : null,
  };
}

export function keepView(storage: TabStorage, tenant: string, { pageStarts, topic, group }: View): void {
  write(
    storage,
    VIEW_KEY,
    JSON.stringify({ tenant, pageStarts: pageStarts.slice(-MAX_KEPT_PAGES), topic, group }),
  );
}

export function loadHistory(storage: TabStorage, tenant: string, nowMs: number): History {
  const kept = readJson(storage, HISTORY_KEY);
  const recent = typeof kept?.atMs === "number" && kept.atMs >= nowMs - HISTORY_MS;
  if (kept?.tenant !== tenant || !recent || typeof kept.series !== "string") return new History();
  return History.fromText(kept.series, nowMs);
}

/** false: this tab's storage is full or forbidden. */
export function keepHistory(storage: TabStorage, tenant: string, history: History, nowMs: number): boolean {
  return write(storage, HISTORY_KEY, JSON.stringify({ tenant, atMs: nowMs, series: history.toText() }));
}

/** Nothing that was read for one user is left to the next. */
export function forgetView(storage: TabStorage): void {
  for (const key of [VIEW_KEY, HISTORY_KEY]) {
    try {
      storage.removeItem(key);
    } catch {
      // Storage that is forbidden holds nothing.
    }
  }
}

function readJson(storage: TabStorage, key: string): Record<string, unknown> | null {
  try {
    const value: unknown = JSON.parse(storage.getItem(key) ?? "null");
    return typeof value === "object" && value !== null ? (value as Record<string, unknown>) : null;
  } catch {
    // Not ours, or storage is forbidden.
    return null;
  }
}

function write(storage: TabStorage, key: string, text: string): boolean {
  try {
    storage.setItem(key, text);
    return true;
  } catch {
    return false;
  }
}
