import { useNowMs } from "./board-context.ts";
import { formatIn, visibleText } from "./format.ts";
import type { Problem } from "./problem.ts";

interface Props {
  problem: Problem;
  onRetry?: () => void;
  onDismiss?: () => void;
}

/** What failed, in the server's own words, and the ID by which its log knows the request. */
export function ProblemNote({ problem, onRetry, onDismiss }: Props) {
  const { what, status, code, detail, requestId, retryAtMs } = problem;
  return (
    <div class="problem">
      <p role="alert">
        <strong>{what}: </strong>
        {visibleText(detail)}
        {code !== null && ` (${status} ${code})`}
      </p>
      <p class="hint">
        {requestId !== null && (
          <>
            request <code>{visibleText(requestId)}</code>{" "}
          </>
        )}
        {retryAtMs !== null && <NextTry atMs={retryAtMs} />}
      </p>
      {onRetry !== undefined && (
        <button type="button" onClick={onRetry}>
          Try now
        </button>
      )}
      {onDismiss !== undefined && (
        <button type="button" onClick={onDismiss}>
          Dismiss
        </button>
      )}
    </div>
  );
}

function NextTry({ atMs }: { atMs: number }) {
  return <>tried again {formatIn(atMs, useNowMs())}</>;
}
