import { useNowMs } from "./board-context.ts";
import { exactTime, formatAgo, formatDuration, formatIn } from "./format.ts";

/** "12 s ago", and exactly when on pointing at it. */
export function Ago({ atMs }: { atMs: number }) {
  return (
    <time dateTime={new Date(atMs).toISOString()} title={exactTime(atMs)}>
      {formatAgo(atMs, useNowMs())}
    </time>
  );
}

/** "in 12 s", counting down. */
export function Countdown({ atMs }: { atMs: number }) {
  return (
    <time dateTime={new Date(atMs).toISOString()} title={exactTime(atMs)}>
      {formatIn(atMs, useNowMs())}
    </time>
  );
}

/** How old what is from then is now; "–" where there is nothing. Short: in its largest unit alone. */
export function Age({ sinceMs, short = false }: { sinceMs: number | null; short?: boolean }) {
  const nowMs = useNowMs();
  if (sinceMs === null) return <span class="quiet">–</span>;
  return (
    <time dateTime={new Date(sinceMs).toISOString()} title={exactTime(sinceMs)}>
      {short ? firstUnit(formatDuration(nowMs - sinceMs)) : formatDuration(nowMs - sinceMs)}
    </time>
  );
}

function firstUnit(duration: string): string {
  return duration.split(" ").slice(0, 2).join(" ");
}
