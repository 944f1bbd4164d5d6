import type { GroupOverview, TopicOverview } from "../client/fairlane.ts";
import { useBoard, useBoardState } from "./board-context.ts";
import { formatCount } from "./format.ts";
import { Age, Ago } from "./moment.tsx";
import { Name } from "./name.tsx";
import { Plot } from "./plot.tsx";

/** Beyond them a topic's groups have figures only: a plot is drawn anew every two seconds. */
const MAX_SMALL_PLOTS = 24;

export function TopicPanel({ topic }: { topic: TopicOverview }) {
  return (
    <section class="panel" aria-labelledby="topic-title">
      <header class="panel-head">
        <h2 id="topic-title">
          <Name text={topic.topic} />
        </h2>
        <dl class="facts">
          <div>
            <dt>stored</dt>
            <dd>{formatCount(topic.messages, topic.atLeast)}</dd>
          </div>
          <div>
            <dt>oldest</dt>
            <dd>
              <Age sinceMs={topic.oldestPublishedAt} />
            </dd>
          </div>
          <div>
            <dt>dead letters</dt>
            <dd>{formatCount(topic.deadLetters, topic.deadLettersAtLeast)}</dd>
          </div>
          <div>
            <dt>counted</dt>
            <dd>
              <Ago atMs={topic.takenAt} />
            </dd>
          </div>
        </dl>
      </header>
      {topic.groups.length === 0 ? (
        <p class="empty">
          No group reads this topic yet. The first receive makes one:{" "}
          <code>npx fairlane consume {topic.topic} --group billing</code>
        </p>
      ) : (
        <GroupsTable topic={topic} />
      )}
    </section>
  );
}

function GroupsTable({ topic }: { topic: TopicOverview }) {
  const { group: chosen } = useBoardState();
  return (
    <table class="cards">
      <caption>Groups</caption>
      <thead>
        <tr>
          <th scope="col">Group</th>
          <th scope="col" class="number">
            Backlog
          </th>
          <th scope="col">Last minutes</th>
          <th scope="col" class="number">
            Oldest
          </th>
          <th scope="col" class="number">
            In flight
          </th>
          <th scope="col" class="number">
            Subscribers
          </th>
          <th scope="col" class="number">
            Expired
          </th>
          <th scope="col" class="number">
            Dropped
          </th>
        </tr>
      </thead>
      <tbody>
        {topic.groups.map((group, index) => (
          <GroupRow
            key={group.group}
            topic={topic}
            group={group}
            isChosen={group.group === chosen}
            hasPlot={index < MAX_SMALL_PLOTS}
          />
        ))}
      </tbody>
    </table>
  );
}

interface RowProps {
  topic: TopicOverview;
  group: GroupOverview;
  isChosen: boolean;
  hasPlot: boolean;
}

function GroupRow({ topic, group, isChosen, hasPlot }: RowProps) {
  const board = useBoard();
  return (
    <tr class={isChosen ? "chosen" : ""}>
      <th scope="row">
        <button
          class="link"
          type="button"
          aria-current={isChosen ? "true" : undefined}
          onClick={() => board.chooseGroup(group.group)}
        >
          <Name text={group.group} />
        </button>
        {group.paused && <span class="badge warn">paused</span>}
      </th>
      <td class="number" data-label="Backlog">
        {formatCount(group.backlog, group.atLeast)}
      </td>
      <td class="wide plot-cell" data-label="Last minutes">
        {hasPlot && (
          <Plot
            label={`Backlog of ${group.group}`}
            points={board.history.of(topic.topic, group.group)}
            measure="backlog"
            size="small"
          />
        )}
      </td>
      <td class="number" data-label="Oldest">
        <Age sinceMs={group.oldestUnsettledAt} />
      </td>
      <td class="number" data-label="In flight">
        {formatCount(group.inFlight)}
      </td>
      <td
        class={`number ${group.subscribers === 0 && group.backlog > 0 ? "bad" : ""}`}
        data-label="Subscribers"
      >
        {formatCount(group.subscribers)}
      </td>
      <td class="number" data-label="Expired">
        {formatCount(group.expired)}
      </td>
      <td class="number" data-label="Dropped">
        {formatCount(group.dropped)}
      </td>
    </tr>
  );
}
