import { useState } from "preact/hooks";
import type { TopicOverview } from "../client/fairlane.ts";
import { useBoard, useBoardState } from "./board-context.ts";
import { formatCount } from "./format.ts";
import { Age } from "./moment.tsx";
import { Name } from "./name.tsx";
import { justBefore } from "./topic-order.ts";
import { mostStuckTopic, oldestUnsettledAt } from "./topic-trouble.ts";
import { useStore } from "./use-store.ts";

export function TopicsNav() {
  const { overview, pageStarts, topic, session } = useBoardState();
  const reply = overview.value;
  const next = reply?.next ?? null;
  const mostStuck = mostStuckTopic(reply?.topics ?? []);
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
              <TopicRow
                key={each.topic}
                topic={each}
                isChosen={each.topic === topic}
                isMostStuck={each.topic === mostStuck}
              />
            ))}
          </tbody>
        </table>
      )}
      {(next !== null || pageStarts.length > 1) && <Pages next={next} shown={reply?.topics.length ?? null} />}
    </nav>
  );
}

/** Of a tenant with more topics than are shown at once. */
function Pages({ next, shown }: { next: string | null; shown: number | null }) {
  const board = useBoard();
  const { total } = useStore(board.topicTotal.store);
  const { pageStarts } = useBoardState();
  const [name, setName] = useState("");
  const before = justBefore(name);
  return (
    <>
      {total !== null && shown !== null && (
        <p class="hint">
          {formatCount(shown)} of {formatCount(Math.max(total, shown))} topics, by name
        </p>
      )}
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

interface RowProps {
  topic: TopicOverview;
  isChosen: boolean;
  /** Of the topics on this page. */
  isMostStuck: boolean;
}

function TopicRow({ topic, isChosen, isMostStuck }: RowProps) {
  const board = useBoard();
  const backlog = topic.groups.reduce((sum, group) => sum + group.backlog, 0);
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
        {isMostStuck && (
          <span class="badge warn" title="Of the topics shown here, its message waits longest">
            oldest
          </span>
        )}
      </th>
      <td class="number">
        {formatCount(
          backlog,
          topic.groups.some((group) => group.atLeast),
        )}
      </td>
      <td class={`number ${isMostStuck ? "warn" : ""}`}>
        <Age sinceMs={oldestUnsettledAt(topic)} short />
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
