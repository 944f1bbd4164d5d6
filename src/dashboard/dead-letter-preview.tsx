import { useBoard } from "./board-context.ts";
import { formatCount, visibleText } from "./format.ts";
import { PREVIEW_BYTES } from "./preview.ts";
import { ProblemNote } from "./problem-note.tsx";
import type { Preview } from "./state.ts";

export function DeadLetterPreview({ preview }: { preview: Preview }) {
  const board = useBoard();
  const { value, problem } = preview.body;
  if (problem !== null) {
    return <ProblemNote problem={problem} onRetry={() => void board.deadLetters.openPreview(preview.row)} />;
  }
  if (value === null) return <p class="hint">Reading the body …</p>;
  return (
    <>
      <p class="hint">
        {formatCount(value.bodyBytes)} bytes, {visibleText(value.contentType)}
        {value.kind === "hex" && ", not text: shown in hex"}
        {value.cut && `; the first ${formatCount(PREVIEW_BYTES)} bytes`}
      </p>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: it scrolls, also by the keyboard */}
      <pre class="body" tabIndex={0} dir="ltr">
        {value.text}
      </pre>
    </>
  );
}
