import type { GroupOverview, TopicOverview } from "../client/fairlane.ts";
import { useBoard, useBoardState } from "./board-context.ts";
import { ExplainPanel } from "./explain-panel.tsx";
import { Ago } from "./moment.tsx";
import { Name } from "./name.tsx";
import { Plot } from "./plot.tsx";
import { mayAdminister } from "./state.ts";
import { SubscribersTable } from "./subscribers-table.tsx";
import { WaitingTable } from "./waiting-table.tsx";

export function GroupPanel({ topic, group }: { topic: TopicOverview; group: GroupOverview }) {
  const board = useBoard();
  const { historyKept } = useBoardState();
  const points = board.history.of(topic.topic, group.group);
  const sinceMs = points[0]?.atMs;
  return (
    <section class="panel" aria-labelledby="group-title">
      <header class="panel-head">
        <h2 id="group-title">
          <span class="quiet">Group</span> <Name text={group.group} />
        </h2>
        <PauseButton topic={topic.topic} group={group} />
      </header>
      <div class="plots">
        <Plot label={`Backlog of ${group.group}`} points={points} measure="backlog" size="large" />
        <Plot label={`Oldest age in ${group.group}`} points={points} measure="oldestAgeMs" size="large" />
      </div>
      <p class="hint">
        As this page has seen it since it was opened, at most the last 15 minutes
        {sinceMs !== undefined && (
          <>
            {" "}
            (from <Ago atMs={sinceMs} />)
          </>
        )}
        . {historyKept ? "" : "This tab's storage does not keep it: a reload begins anew."}
      </p>
      <SubscribersTable />
      <WaitingTable />
      <ExplainPanel key={`${topic.topic} ${group.group}`} />
    </section>
  );
}

function PauseButton({ topic, group: { group, paused } }: { topic: string; group: GroupOverview }) {
  const board = useBoard();
  const state = useBoardState();
  if (!mayAdminister(state)) {
    return <span class="hint">Pause and resume need a token with the scope admin.</span>;
  }
  const confirmation = paused
    ? { title: `Resume ${group}`, text: "Its subscribers get messages again at once.", action: "Resume" }
    : {
        title: `Pause ${group}`,
        text: `Nothing of ${topic} is delivered to ${group} until it is resumed. What is in flight can be settled; messages go on being stored.`,
        action: "Pause",
      };
  return (
    <button
      type="button"
      onClick={() => board.confirm({ ...confirmation, run: () => board.setPaused(topic, group, !paused) })}
    >
      {paused ? "Resume" : "Pause"}
    </button>
  );
}
