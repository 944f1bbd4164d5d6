import { useBoard, useBoardState, useNowMs } from "./board-context.ts";
import { formatDuration } from "./format.ts";
import { claimsOf } from "./session.ts";

const SOON_MS = 10 * 60_000;

export function TopBar({ onSignOut }: { onSignOut(): void }) {
  const { session, scopes, overview, visible } = useBoardState();
  const status = !visible
    ? "paused"
    : overview.problem !== null
      ? "failing"
      : overview.value === null
        ? "reading"
        : "live";
  return (
    <header class="top-bar">
      <h1>Fairlane</h1>
      <span class="fact">
        <span class="quiet">tenant</span> <strong>{session.tenant}</strong>
      </span>
      <span class="fact">
        <span class="quiet">{scopes === null ? "no token" : "may"}</span> {scopes?.join(", ")}
        <TokenEnd />
      </span>
      <span class={`live ${status}`}>{STATUS_TEXTS[status]}</span>
      <button type="button" onClick={onSignOut}>
        {session.token === null ? "Leave" : "Forget token"}
      </button>
    </header>
  );
}

const STATUS_TEXTS = {
  paused: "Paused",
  failing: "Not up to date",
  reading: "Reading …",
  live: "Live, every 2 s",
} as const;

function TokenEnd() {
  const { session } = useBoard().store.get();
  const nowMs = useNowMs();
  const expiresAtMs = session.token === null ? null : (claimsOf(session.token)?.expiresAtMs ?? null);
  if (expiresAtMs === null || expiresAtMs - nowMs > SOON_MS) return null;
  return <span class="warn"> · token ends in {formatDuration(expiresAtMs - nowMs)}</span>;
}
