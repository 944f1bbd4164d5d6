import type { SubscriberList } from "../client/fairlane.ts";
import { useBoard, useBoardState } from "./board-context.ts";
import { formatCount } from "./format.ts";
import { Age, Ago, Countdown } from "./moment.tsx";
import { Name } from "./name.tsx";
import { ProblemNote } from "./problem-note.tsx";

const MAX_ROWS = 100;
const MAX_PARTITIONS_NAMED = 6;

/** Who reads, which lanes each holds, and what its fair share is. */
export function SubscribersTable() {
  const board = useBoard();
  const { subscribers } = useBoardState();
  const { value, problem } = subscribers;
  return (
    <section aria-labelledby="subscribers-title">
      <h3 id="subscribers-title">Subscribers</h3>
      {problem !== null && (
        <ProblemNote problem={problem} onRetry={() => board.readings.subscribers.askNow()} />
      )}
      {value !== null && value.subscribers.length === 0 && (
        <p class="empty">
          Nobody reads this group now. <code>npx fairlane consume</code> or the client's{" "}
          <code>consume()</code> does.
        </p>
      )}
      {value !== null && value.subscribers.length > 0 && <Subscribers reply={value} />}
    </section>
  );
}

function Subscribers({ reply }: { reply: SubscriberList }) {
  const { subscribers, share, busyLanes, freeLanes } = reply;
  const hidden = subscribers.length - MAX_ROWS;
  return (
    <>
      <p class="hint">
        {formatCount(busyLanes)} busy {busyLanes === 1 ? "lane" : "lanes"}, {formatCount(freeLanes)} of them
        free; each subscriber's share is {formatCount(share)}.
      </p>
      <table class="cards">
        <thead>
          <tr>
            <th scope="col">Subscriber</th>
            <th scope="col">State</th>
            <th scope="col">Busy lanes of its share</th>
            <th scope="col" class="number">
              Lanes
            </th>
            <th scope="col" class="number">
              In flight
            </th>
            <th scope="col">Oldest delivery</th>
            <th scope="col">Partitions</th>
            <th scope="col">Seen</th>
            <th scope="col">Expires</th>
          </tr>
        </thead>
        <tbody>
          {subscribers.slice(0, MAX_ROWS).map((each) => (
            <tr key={each.subscriber}>
              <th scope="row">
                <Name text={each.subscriber} />
                {each.route !== undefined && (
                  <>
                    {" "}
                    on route <Name text={each.route} />
                  </>
                )}
              </th>
              <td data-label="State">
                <span class={each.asking ? "badge good" : "badge"}>{each.asking ? "asking" : "quiet"}</span>
              </td>
              <td class="wide" data-label="Busy lanes of its share">
                <Share busyLanes={each.busyLanes} share={share} />
              </td>
              <td class="number" data-label="Lanes">
                {formatCount(each.lanes)}
              </td>
              <td class="number" data-label="In flight">
                {formatCount(each.inFlight)}
              </td>
              <td data-label="Oldest delivery">
                <Age sinceMs={each.oldestDeliveryAt} />
              </td>
              <td class="wide" data-label="Partitions">
                <Partitions names={each.partitions} lanes={each.lanes} />
              </td>
              <td data-label="Seen">
                <Ago atMs={each.lastSeenAt} />
              </td>
              <td data-label="Expires">
                <Countdown atMs={each.expiresAt} />
              </td>
            </tr>
          ))}
        </tbody>
      </table>
      {hidden > 0 && <p class="hint">and {formatCount(hidden)} more subscribers</p>}
    </>
  );
}

function Share({ busyLanes, share }: { busyLanes: number; share: number }) {
  const isOver = busyLanes > share;
  return (
    <span class="share">
      <span class={`bar ${isOver ? "over" : ""}`} aria-hidden="true">
        <span style={{ width: `${share === 0 ? 0 : Math.min(100, (busyLanes / share) * 100)}%` }} />
      </span>
      {formatCount(busyLanes)} of {formatCount(share)}
      {isOver && <span class="badge warn">over</span>}
    </span>
  );
}

function Partitions({ names, lanes }: { names: readonly string[]; lanes: number }) {
  if (names.length === 0) return <span class="quiet">–</span>;
  const shown = names.slice(0, MAX_PARTITIONS_NAMED);
  const more = lanes - shown.length;
  return (
    <span class="partitions">
      {shown.map((name) => (
        <Name key={name} text={name} lines={1} />
      ))}
      {more > 0 && <span class="quiet">+{formatCount(more)}</span>}
    </span>
  );
}
