import type { Fairlane, Overview } from "../client/fairlane.ts";
import { Poller, type PollTimers } from "./poller.ts";
import type { Problem } from "./problem.ts";
import type { BoardState, Question, Reading } from "./state.ts";
import type { Store } from "./store.ts";

export const POLL_MS = 2000;
export const WAITING_LANES_SHOWN = 20;

export interface ReadingPorts {
  store: Store<BoardState>;
  client: Fairlane;
  timers: PollTimers;
  onOverview(reply: Overview): void;
  failed(what: string, error: unknown, retryAtMs: number | null): Problem;
}

type Key = "overview" | "subscribers" | "waiting" | "explanation";
type Value<K extends Key> = NonNullable<BoardState[K]["value"]>;

/** What is read again and again: each kind on its own, for the topic and group that are chosen then. */
export class Readings {
  readonly overview: Poller<Value<"overview">>;
  readonly subscribers: Poller<Value<"subscribers">>;
  readonly waiting: Poller<Value<"waiting">>;
  /** Not by itself: what a message waits for changes at a known time or by an event that the other kinds show. */
  readonly explanation: Poller<Value<"explanation">>;

  constructor(ports: ReadingPorts) {
    const { store, client } = ports;
    const { admin } = client;
    const topic = () => store.get().topic ?? "";
    const group = () => store.get().group ?? "";
    const polled = { intervalMs: POLL_MS };
    this.overview = poller(ports, "overview", "Reading the topics", {
      ...polled,
      read: () => {
        const after = store.get().pageStarts.at(-1) ?? null;
        return admin.overview(after === null ? {} : { after });
      },
      onReply: (reply) => ports.onOverview(reply),
    });
    this.subscribers = poller(ports, "subscribers", "Reading the subscribers", {
      ...polled,
      read: () => admin.subscribers(topic(), group()),
    });
    this.waiting = poller(ports, "waiting", "Reading the lanes that wait", {
      ...polled,
      read: () => admin.waitingLanes(topic(), group(), { limit: WAITING_LANES_SHOWN }),
    });
    this.explanation = poller(ports, "explanation", "Asking about the message", {
      intervalMs: null,
      read: () => admin.explain(topic(), group(), store.get().question as Question),
    });
  }

  stop(): void {
    for (const each of [this.overview, this.subscribers, this.waiting, this.explanation]) each.stop();
  }
}

interface Kind<T> {
  read(): Promise<T>;
  onReply?(reply: T): void;
  intervalMs: number | null;
}

function poller<K extends Key>(
  { store, timers, failed }: ReadingPorts,
  key: K,
  what: string,
  { read, onReply, intervalMs }: Kind<Value<K>>,
): Poller<Value<K>> {
  const show = (reading: Reading<Value<K>>) => store.update({ [key]: reading } as Pick<BoardState, K>);
  return new Poller({
    read,
    timers,
    intervalMs,
    onReply: (value) => {
      show({ value, problem: null });
      onReply?.(value);
    },
    onFailure: (error, retryAtMs) => {
      const problem = failed(what, error, retryAtMs);
      show({ value: store.get()[key].value as Value<K> | null, problem });
    },
  });
}
