import { useBoard, useBoardState } from "./board-context.ts";
import { ConfirmDialog } from "./confirm-dialog.tsx";
import { DeadLettersPanel } from "./dead-letters-panel.tsx";
import { GroupPanel } from "./group-panel.tsx";
import { ProblemNote } from "./problem-note.tsx";
import { chosenTopic } from "./state.ts";
import { TopBar } from "./top-bar.tsx";
import { TopicPanel } from "./topic-panel.tsx";
import { TopicsNav } from "./topics-nav.tsx";

export function BoardPage({ onSignOut }: { onSignOut(): void }) {
  const board = useBoard();
  const state = useBoardState();
  const topic = chosenTopic(state);
  const group = topic?.groups.find((each) => each.group === state.group) ?? null;
  return (
    <>
      <TopBar onSignOut={onSignOut} />
      <div class="messages">
        <output>{state.notice}</output>
        {state.failure !== null && (
          <ProblemNote problem={state.failure} onDismiss={() => board.store.update({ failure: null })} />
        )}
        {state.overview.problem !== null && (
          <ProblemNote problem={state.overview.problem} onRetry={() => board.readings.overview.askNow()} />
        )}
      </div>
      <div class="board">
        <TopicsNav />
        <main>
          {topic !== null && <TopicPanel topic={topic} />}
          {topic !== null && group !== null && <GroupPanel topic={topic} group={group} />}
          {topic !== null && <DeadLettersPanel topic={topic} />}
        </main>
      </div>
      <ConfirmDialog />
    </>
  );
}
