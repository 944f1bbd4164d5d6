import type { Explanation, WaitingLanes } from "../client/fairlane.ts";
import { useBoard, useBoardState } from "./board-context.ts";
import { formatCount, visibleText } from "./format.ts";
import { Name } from "./name.tsx";
import { NextChange } from "./next-change.tsx";
import { ProblemNote } from "./problem-note.tsx";
import { StateBadge } from "./state-badge.tsx";
import { Summary } from "./summary.tsx";

/** Lanes of which nothing is delivered now, each with the reason for its first message. */
export function WaitingTable() {
  const board = useBoard();
  const { waiting } = useBoardState();
  const { value, problem } = waiting;
  return (
    <section aria-labelledby="waiting-title">
      <h3 id="waiting-title">Lanes that wait</h3>
      {problem !== null && <ProblemNote problem={problem} onRetry={() => board.readings.waiting.askNow()} />}
      {value !== null && value.lanes.length === 0 && <p class="empty">No lane waits.</p>}
      {value !== null && value.lanes.length > 0 && <Lanes reply={value} />}
    </section>
  );
}

function Lanes({ reply }: { reply: WaitingLanes }) {
  return (
    <>
      <table class="cards">
        <thead>
          <tr>
            <th scope="col">Partition key</th>
            <th scope="col" class="number">
              Unsettled
            </th>
            <th scope="col">State</th>
            <th scope="col">Why</th>
            <th scope="col">Changes</th>
            <th scope="col">
              <span class="visually-hidden">Details</span>
            </th>
          </tr>
        </thead>
        <tbody>
          {reply.lanes.map(({ partitionKey, unsettled, explanation }) => (
            <tr key={partitionKey}>
              <th scope="row">
                <Name text={partitionKey} />
              </th>
              <td class="number" data-label="Unsettled">
                {formatCount(unsettled)}
              </td>
              <td data-label="State">
                <StateBadge state={explanation.state} />
              </td>
              <td class="wide why" data-label="Why">
                <Summary text={explanation.summary} />
              </td>
              <td data-label="Changes">
                <NextChange explanation={explanation} />
              </td>
              <td>
                <ExplainButton explanation={explanation} />
              </td>
            </tr>
          ))}
        </tbody>
      </table>
      {reply.more && <p class="hint">More lanes wait; these are the first.</p>}
    </>
  );
}

function ExplainButton({ explanation }: { explanation: Explanation }) {
  const board = useBoard();
  const { partitionKey, id, offset } = explanation;
  if (offset === null && id === null) return null;
  return (
    <button
      type="button"
      aria-label={`Explain the first message of ${visibleText(partitionKey)}`}
      onClick={() =>
        board.explain(offset === null ? { partitionKey, id: id ?? "" } : { partitionKey, offset })
      }
    >
      Explain
    </button>
  );
}
