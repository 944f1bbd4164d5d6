import { useState } from "preact/hooks";
import type { TopicOverview } from "../client/fairlane.ts";
import { useBoard, useBoardState } from "./board-context.ts";
import { formatCount } from "./format.ts";
import { Age } from "./moment.tsx";
import { Name } from "./name.tsx";
import { justBefore } from "./topic-order.ts";

export function TopicsNav() {
  const { overview, pageStarts, topic, session } = useBoardState();
  const reply = overview.value;
  const next = reply?.next ?? null;
  return (
    <nav class="panel topics" aria-label="Topics">
      <h2>Topics</h2>
      {reply?.topics.length === 0 && pageStarts.length === 1 && <NoTopic tenant={session.tenant} />}
      {reply !== null && reply.topics.length > 0 && (
        <table>
          <thead>
            <tr>
              <th scope="col">Topic</th>
              <th scope="col" class="number">
                Backlog
              </th>
              <th scope="col" class="number">
                Oldest
              </th>
              <th scope="col" class="number">
                Dead
              </th>
            </tr>
          </thead>
          <tbody>
            {reply.topics.map((each) => (
              <TopicRow key={each.topic} topic={each} isChosen={each.topic === topic} />
            ))}
          </tbody>
        </table>
      )}
      {(next !== null || pageStarts.length > 1) && <Pages next={next} />}
    </nav>
  );
}

/** Of a tenant with more topics than are shown at once. */
function Pages({ next }: { next: string | null }) {
  const board = useBoard();
  const { pageStarts } = useBoardState();
  const [name, setName] = useState("");
  const before = justBefore(name);
  return (
    <>
      <div class="buttons">
        <button
          type="button"
          disabled={pageStarts.length === 1}
          onClick={() => board.showTopicsAfter(pageStarts.slice(0, -1))}
        >
          Previous topics
        </button>
        <button
          type="button"
          disabled={next === null}
          onClick={() => board.showTopicsAfter([...pageStarts, next])}
        >
          More topics
        </button>
      </div>
      <form
        class="buttons find"
        onSubmit={(event) => {
          event.preventDefault();
          if (before !== undefined) board.showTopicsAfter([null, before], name);
        }}
      >
        <label for="topic-name">From</label>
        <input
          id="topic-name"
          type="text"
          autocomplete="off"
          autocapitalize="none"
          spellcheck={false}
          placeholder="a topic's name"
          value={name}
          onInput={(event) => setName(event.currentTarget.value.trim())}
        />
        <button type="submit" disabled={before === undefined}>
          Go
        </button>
      </form>
    </>
  );
}

function TopicRow({ topic, isChosen }: { topic: TopicOverview; isChosen: boolean }) {
  const board = useBoard();
  const backlog = topic.groups.reduce((sum, group) => sum + group.backlog, 0);
  const oldest = topic.groups.map((group) => group.oldestUnsettledAt).filter((at) => at !== null);
  return (
    <tr class={isChosen ? "chosen" : ""}>
      <th scope="row">
        <button
          class="link"
          type="button"
          aria-current={isChosen ? "true" : undefined}
          onClick={() => board.chooseTopic(topic.topic)}
        >
          <Name text={topic.topic} />
        </button>
      </th>
      <td class="number">
        {formatCount(
          backlog,
          topic.groups.some((group) => group.atLeast),
        )}
      </td>
      <td class="number">
        <Age sinceMs={oldest.length === 0 ? null : Math.min(...oldest)} short />
      </td>
      <td class={`number ${topic.deadLetters > 0 ? "bad" : ""}`}>
        {formatCount(topic.deadLetters, topic.deadLettersAtLeast)}
      </td>
    </tr>
  );
}

function NoTopic({ tenant }: { tenant: string }) {
  return (
    <div class="empty">
      <p>No topic yet. The first message makes one:</p>
      <pre>{`npx fairlane publish orders \\
  --tenant ${tenant} --body '{"total": 42}'`}</pre>
      <p>
        or <code>POST /v1/tenants/{tenant}/topics/orders/messages</code>
      </p>
    </div>
  );
}
