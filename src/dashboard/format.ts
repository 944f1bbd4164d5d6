const SECOND_MS = 1000;
const MINUTE_MS = 60 * SECOND_MS;
const HOUR_MS = 60 * MINUTE_MS;
const DAY_MS = 24 * HOUR_MS;

/** "1,204"; "≥ 10,000" where it is a lower bound. */
export function formatCount(count: number, atLeast = false): string {
  return `${atLeast ? "≥ " : ""}${Math.round(count).toLocaleString("en-US")}`;
}

/** Two units at most: "12 s", "3 min 5 s", "2 h 5 min", "4 d 3 h". Never negative. */
export function formatDuration(durationMs: number): string {
  const ms = Math.max(0, durationMs);
  if (ms < MINUTE_MS) return `${Math.floor(ms / SECOND_MS)} s`;
  if (ms < HOUR_MS) return pair(ms, MINUTE_MS, "min", SECOND_MS, "s");
  if (ms < DAY_MS) return pair(ms, HOUR_MS, "h", MINUTE_MS, "min");
  return pair(ms, DAY_MS, "d", HOUR_MS, "h");
}

function pair(ms: number, unitMs: number, unit: string, smallerMs: number, smaller: string): string {
  const rest = Math.floor((ms % unitMs) / smallerMs);
  return `${Math.floor(ms / unitMs)} ${unit}${rest === 0 ? "" : ` ${rest} ${smaller}`}`;
}

/** "12 s ago"; "in 12 s" for what is to come. */
export function formatAgo(atMs: number, nowMs: number): string {
  return atMs > nowMs + SECOND_MS ? formatIn(atMs, nowMs) : `${formatDuration(nowMs - atMs)} ago`;
}

/** Rounded up, so that nothing is said to be due before it is. */
export function formatIn(atMs: number, nowMs: number): string {
  return atMs <= nowMs ? "now" : `in ${formatDuration(Math.ceil((atMs - nowMs) / SECOND_MS) * SECOND_MS)}`;
}

/** Unambiguous and exact, in UTC as the API's own times are. */
export function exactTime(atMs: number): string {
  const date = new Date(atMs);
  return Number.isNaN(date.getTime())
    ? String(atMs)
    : date.toISOString().replace("T", " ").replace("Z", " UTC");
}

/**
 * A name, key or reason as it can be shown: what has no shape of its own or turns the text around is replaced by its
 * code, as in ⟨202E⟩. Pictures of control characters (U+2400 …) would be empty boxes in many a font.
 */
export function visibleText(text: string): string {
  return text.replace(/[\p{C}\p{Zl}\p{Zp}]/gu, (character) => {
    const code = character.codePointAt(0) ?? 0;
    return `⟨${code.toString(16).toUpperCase().padStart(4, "0")}⟩`;
  });
}
