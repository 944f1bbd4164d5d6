import { useState } from "preact/hooks";
import type { DeadLetter, DeadLetterPage, TopicOverview } from "../client/fairlane.ts";
import { useBoard, useBoardState } from "./board-context.ts";
import { DeadLetterPreview } from "./dead-letter-preview.tsx";
import { formatCount, visibleText } from "./format.ts";
import { Ago } from "./moment.tsx";
import { Name } from "./name.tsx";
import { ProblemNote } from "./problem-note.tsx";
import { mayAdminister } from "./state.ts";

export function DeadLettersPanel({ topic }: { topic: TopicOverview }) {
  const board = useBoard();
  const state = useBoardState();
  const { value, problem } = state.deadLetters;
  return (
    <section class="panel" aria-labelledby="dead-title">
      <header class="panel-head">
        <h2 id="dead-title">
          Dead letters <span class="quiet">of</span> <Name text={topic.topic} />
        </h2>
        {mayAdminister(state) && (
          <button type="button" onClick={() => board.deadLetters.askNow()}>
            Refresh
          </button>
        )}
      </header>
      {!mayAdminister(state) && (
        <p class="empty">
          {formatCount(topic.deadLetters, topic.deadLettersAtLeast)} dead letters. To see, preview and redrive
          them takes a token with the scope admin.
        </p>
      )}
      {problem !== null && <ProblemNote problem={problem} onRetry={() => board.deadLetters.askNow()} />}
      {value !== null && value.deadLetters.length === 0 && (
        <p class="empty">None. A message that is out of attempts or rejected comes here, with the reason.</p>
      )}
      {value !== null && value.deadLetters.length > 0 && (
        <>
          <Actions rows={value.deadLetters} topic={topic} />
          <Rows rows={value.deadLetters} />
        </>
      )}
      {value !== null && <Pages reply={value} />}
    </section>
  );
}

function Actions({ rows, topic }: { rows: readonly DeadLetter[]; topic: TopicOverview }) {
  const board = useBoard();
  const { ticked, group } = useBoardState();
  const chosen = rows.filter(({ offset }) => ticked.has(offset));
  const failing = [...new Set(rows.map((row) => row.group))];
  const groups = [...new Set([...failing, ...topic.groups.map((each) => each.group)])].sort();
  const [picked, setPicked] = useState<string | null>(null);
  // Of the chosen group where it has some here, as one who looks at it expects.
  const likely = group !== null && failing.includes(group) ? group : (failing[0] ?? "");
  const ofGroup = picked !== null && groups.includes(picked) ? picked : likely;
  return (
    <div class="buttons">
      <label class="check">
        <input
          type="checkbox"
          checked={chosen.length === rows.length}
          onChange={(event) => board.deadLetters.tickAll(event.currentTarget.checked)}
        />{" "}
        All on this page
      </label>
      <button
        type="button"
        disabled={chosen.length === 0}
        onClick={() => board.confirm(board.deadLetters.redrive(chosen))}
      >
        Redrive ticked{chosen.length > 0 && ` (${chosen.length})`}
      </button>
      <span class="joined">
        <label class="visually-hidden" for="redrive-group">
          Group whose dead letters are all redriven
        </label>
        <select id="redrive-group" value={ofGroup} onChange={(event) => setPicked(event.currentTarget.value)}>
          {groups.map((each) => (
            <option key={each} value={each}>
              {each}
            </option>
          ))}
        </select>
        <button type="button" onClick={() => board.confirm(board.deadLetters.redriveGroup(ofGroup))}>
          Redrive all of the group
        </button>
      </span>
    </div>
  );
}

function Rows({ rows }: { rows: readonly DeadLetter[] }) {
  const { ticked } = useBoardState();
  return (
    <table class="cards">
      <thead>
        <tr>
          <th scope="col">
            <span class="visually-hidden">Tick</span>
          </th>
          <th scope="col">Message ID</th>
          <th scope="col">Partition key</th>
          <th scope="col">Group</th>
          <th scope="col">Reason</th>
          <th scope="col" class="number">
            Attempts
          </th>
          <th scope="col">Failed</th>
          <th scope="col">
            <span class="visually-hidden">Actions</span>
          </th>
        </tr>
      </thead>
      <tbody>
        {rows.map((row) => (
          <Row key={row.offset} row={row} isTicked={ticked.has(row.offset)} />
        ))}
      </tbody>
    </table>
  );
}

function Row({ row, isTicked }: { row: DeadLetter; isTicked: boolean }) {
  const board = useBoard();
  const { preview } = useBoardState();
  const isOpen = preview?.row.offset === row.offset;
  const id = visibleText(row.id);
  return (
    <>
      <tr>
        <td class="tick">
          <input
            type="checkbox"
            aria-label={`Tick ${id}`}
            checked={isTicked}
            onChange={(event) => board.deadLetters.tick(row.offset, event.currentTarget.checked)}
          />
        </td>
        <th scope="row">
          <Name text={row.id} />
        </th>
        <td data-label="Partition key">
          <Name text={row.partitionKey} />
        </td>
        <td data-label="Group">
          <Name text={row.group} />
        </td>
        <td class="wide" data-label="Reason">
          <Name text={row.reason} lines={4} />
        </td>
        <td class="number" data-label="Attempts">
          {formatCount(row.attempts)}
        </td>
        <td data-label="Failed">
          <Ago atMs={row.failedAt} />
        </td>
        <td class="row-actions">
          <button
            type="button"
            aria-expanded={isOpen}
            aria-label={`Body of ${id}`}
            onClick={() =>
              isOpen ? board.deadLetters.closePreview() : void board.deadLetters.openPreview(row)
            }
          >
            Body
          </button>
          <button
            type="button"
            aria-label={`Redrive ${id}`}
            onClick={() => board.confirm(board.deadLetters.redrive([row]))}
          >
            Redrive
          </button>
        </td>
      </tr>
      {isOpen && preview !== null && (
        <tr class="preview-row">
          <td colSpan={8}>
            <DeadLetterPreview preview={preview} />
          </td>
        </tr>
      )}
    </>
  );
}

function Pages({ reply }: { reply: DeadLetterPage }) {
  const board = useBoard();
  const { deadLetterStarts } = useBoardState();
  const { next } = reply;
  if (next === null && deadLetterStarts.length === 1) return null;
  return (
    <div class="buttons">
      <button
        type="button"
        disabled={deadLetterStarts.length === 1}
        onClick={() => board.deadLetters.showAfter(deadLetterStarts.slice(0, -1))}
      >
        Previous dead letters
      </button>
      <button
        type="button"
        disabled={next === null}
        onClick={() => next !== null && board.deadLetters.showAfter([...deadLetterStarts, next])}
      >
        More dead letters
      </button>
    </div>
  );
}
