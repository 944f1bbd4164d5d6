import { useNowMs } from "./board-context.ts";
import { exactTime, formatAgo, visibleText } from "./format.ts";

const ISO_TIME = /([0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}(?:\.[0-9]+)?Z)/;
const TIME_OF_DAY = { start: 11, end: 19 } as const;

/** The server's words, its long times said shortly. */
export function Summary({ text }: { text: string }) {
  const nowMs = useNowMs();
  return (
    <bdi class="summary-text">
      {text.split(ISO_TIME).map((part, index) => {
        // What is split by stands at odd places.
        const atMs = index % 2 === 1 ? Date.parse(part) : Number.NaN;
        if (Number.isNaN(atMs)) return visibleText(part);
        const exact = exactTime(atMs);
        return (
          <time key={part} dateTime={part} title={exact}>
            {exact.slice(TIME_OF_DAY.start, TIME_OF_DAY.end)} UTC ({formatAgo(atMs, nowMs)})
          </time>
        );
      })}
    </bdi>
  );
}
