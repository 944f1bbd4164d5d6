import { useState } from "preact/hooks";
import type { Explanation } from "../client/fairlane.ts";
import { BlockerText } from "./blocker-text.tsx";
import { useBoard, useBoardState } from "./board-context.ts";
import { Ago, Countdown } from "./moment.tsx";
import { Name } from "./name.tsx";
import { NextChange } from "./next-change.tsx";
import { ProblemNote } from "./problem-note.tsx";
import type { Question } from "./state.ts";
import { StateBadge } from "./state-badge.tsx";
import { Summary } from "./summary.tsx";

/** "Why is this message not delivered?", by partition key and ID or offset. */
export function ExplainPanel() {
  const board = useBoard();
  const { question, explanation } = useBoardState();
  return (
    <section aria-labelledby="explain-title">
      <h3 id="explain-title">Why is this message not delivered?</h3>
      <QuestionForm onAsk={(asked) => board.explain(asked)} />
      {question !== null && (
        <div class="answer" aria-live="polite">
          <p class="hint">
            About <Name text={nameOf(question, explanation.value)} /> of <Name text={question.partitionKey} />
          </p>
          {explanation.problem !== null && (
            <ProblemNote problem={explanation.problem} onRetry={() => board.readings.explanation.askNow()} />
          )}
          {explanation.value !== null && <Answer explanation={explanation.value} />}
          <div class="buttons">
            <button type="button" onClick={() => board.readings.explanation.askNow()}>
              Ask again
            </button>
            <button type="button" onClick={() => board.explain(null)}>
              Close
            </button>
          </div>
        </div>
      )}
    </section>
  );
}

/** The ID, as soon as it is known. */
function nameOf(question: Question, explanation: Explanation | null): string {
  if ("id" in question) return question.id;
  return explanation?.id ?? `offset ${question.offset}`;
}

function QuestionForm({ onAsk }: { onAsk(question: Question): void }) {
  const [partitionKey, setPartitionKey] = useState("");
  const [by, setBy] = useState<"id" | "offset">("id");
  const [text, setText] = useState("");
  const [missing, setMissing] = useState<string | null>(null);
  const ask = () => {
    const offset = Number(text);
    const problem =
      partitionKey === "" || text === ""
        ? `Give the partition key and the ${by === "id" ? "message ID" : "offset"}.`
        : by === "offset" && !(/^[0-9]+$/.test(text) && Number.isSafeInteger(offset))
          ? "An offset is a whole number."
          : null;
    setMissing(problem);
    if (problem === null) onAsk({ partitionKey, ...(by === "id" ? { id: text } : { offset }) });
  };
  return (
    <form
      class="question"
      onSubmit={(event) => {
        event.preventDefault();
        ask();
      }}
    >
      <div>
        <label for="question-key">Partition key</label>
        <input
          id="question-key"
          type="text"
          autocomplete="off"
          autocapitalize="none"
          spellcheck={false}
          value={partitionKey}
          onInput={(event) => setPartitionKey(event.currentTarget.value)}
        />
      </div>
      <div>
        <label for="question-by">By</label>
        <select
          id="question-by"
          value={by}
          onChange={(event) => setBy(event.currentTarget.value === "offset" ? "offset" : "id")}
        >
          <option value="id">message ID</option>
          <option value="offset">offset</option>
        </select>
      </div>
      <div>
        <label for="question-id">{by === "id" ? "Message ID" : "Offset"}</label>
        <input
          id="question-id"
          type="text"
          autocomplete="off"
          autocapitalize="none"
          spellcheck={false}
          value={text}
          onInput={(event) => setText(event.currentTarget.value)}
        />
      </div>
      <button type="submit">Explain</button>
      {missing !== null && (
        <p class="problem" role="alert">
          {missing}
        </p>
      )}
    </form>
  );
}

function Answer({ explanation }: { explanation: Explanation }) {
  const { state, summary, blockers, attempt, maxAttempts, subscriber, deliveredAt, reason, lease, at } =
    explanation;
  return (
    <>
      <p class="summary">
        <StateBadge state={state} /> <Summary text={summary} />
      </p>
      {blockers.length > 0 && (
        <ul class="blockers" aria-label="What it waits for">
          {blockers.map((each) => (
            <li key={JSON.stringify(each)}>
              <BlockerText blocker={each} />
            </li>
          ))}
        </ul>
      )}
      <dl class="facts">
        {fact("next change", <NextChange explanation={explanation} />)}
        {attempt !== undefined &&
          fact("attempt", `${attempt}${maxAttempts === null ? "" : ` of ${maxAttempts}`}`)}
        {explanation.until !== null && fact("its own state ends", <Countdown atMs={explanation.until} />)}
        {subscriber !== undefined && fact("with", <Name text={subscriber} />)}
        {deliveredAt !== undefined && fact("delivered", <Ago atMs={deliveredAt} />)}
        {reason !== undefined && fact("last reason", <Name text={reason} lines={4} />)}
        {explanation.route !== undefined && fact("route", <Name text={explanation.route} />)}
        {explanation.targetGroup !== undefined && fact("only for", <Name text={explanation.targetGroup} />)}
        {lease !== null && fact("lane held by", <Name text={lease.subscriber} />)}
        {lease !== null && fact("lease ends", <Countdown atMs={lease.expiresAt} />)}
        {explanation.publishedAt !== null && fact("published", <Ago atMs={explanation.publishedAt} />)}
        {explanation.offset !== null && fact("offset", String(explanation.offset))}
        {explanation.deadLetter !== undefined &&
          fact("dead-lettered", <Ago atMs={explanation.deadLetter.failedAt} />)}
        {fact("as of", <Ago atMs={at} />)}
      </dl>
    </>
  );
}

function fact(name: string, value: preact.ComponentChildren) {
  return (
    <div>
      <dt>{name}</dt>
      <dd>{value}</dd>
    </div>
  );
}
