import type { Overview } from "../client/fairlane.ts";
import { Fairlane, type Fetch } from "../client/fairlane.ts";
import { DeadLetterList } from "./dead-letter-list.ts";
import type { History } from "./history.ts";
import type { PollTimers } from "./poller.ts";
import { type Problem, problemOf } from "./problem.ts";
import { POLL_MS, Readings } from "./readings.ts";
import { ServerClock } from "./server-clock.ts";
import { claimsOf, type Session, type TabStorage } from "./session.ts";
import {
  type BoardState,
  type Confirmation,
  chosenTopic,
  initialState,
  mayAdminister,
  type Question,
  UNREAD,
} from "./state.ts";
import { Store } from "./store.ts";
import { TopicTotal } from "./topic-total.ts";
import { keepHistory, keepView, loadHistory, loadView } from "./view.ts";

const KEEP_HISTORY_EVERY_MS = 10_000;
const TICK_MS = 1000;

export interface BoardPorts {
  url: string;
  storage: TabStorage;
  timers: PollTimers;
  fetch: Fetch;
  /** The server does not know this token, or this tenant. */
  onRefused(problem: Problem): void;
}

/** What the page reads and does for one session, and all of its timers. */
export class Board {
  readonly store: Store<BoardState>;
  /** Apart from the rest: it changes every second, and only what shows a time looks at it. */
  readonly clock: Store<{ nowMs: number }>;
  readonly deadLetters: DeadLetterList;
  readonly history: History;
  readonly readings: Readings;
  readonly topicTotal: TopicTotal;
  private readonly client: Fairlane;
  private readonly ports: BoardPorts;
  private readonly serverClock: ServerClock;
  private cancelTick: (() => void) | null = null;
  private historyKeptAtMs = 0;
  private wantedTopic: string | null = null;

  constructor(session: Session, ports: BoardPorts) {
    this.ports = ports;
    const { timers, storage } = ports;
    const { tenant, token } = session;
    this.client = new Fairlane({
      url: ports.url,
      tenant,
      fetch: ports.fetch,
      token: token ?? undefined,
      // Pollers try again by themselves, and say when; what a person asked for fails at once, and says why.
      retryForMs: 0,
    });
    const scopes = token === null ? null : (claimsOf(token)?.scopes ?? []);
    this.store = new Store({ ...initialState(session, scopes), ...loadView(storage, tenant) });
    this.serverClock = new ServerClock(() => timers.nowMs());
    this.clock = new Store({ nowMs: timers.nowMs() });
    this.history = loadHistory(storage, tenant, timers.nowMs());
    this.deadLetters = new DeadLetterList({
      store: this.store,
      client: this.client,
      timers,
      failed: (what, error, retryAtMs) => this.failed(what, error, retryAtMs),
    });
    this.topicTotal = new TopicTotal(this.client, timers);
    this.readings = new Readings({
      store: this.store,
      client: this.client,
      timers,
      onOverview: (reply) => this.seen(reply),
      failed: (what, error, retryAtMs) => this.failed(what, error, retryAtMs),
    });
  }

  start(): void {
    if (!this.store.get().visible) return;
    this.readings.overview.start();
    this.readGroup();
    this.readDeadLetters();
    this.tick();
  }

  stop(): void {
    this.readings.stop();
    this.deadLetters.stop();
    this.topicTotal.stop();
    this.cancelTick?.();
    this.cancelTick = null;
    this.keepHistoryNow();
  }

  /** A page that nobody looks at asks for nothing. */
  setVisible(visible: boolean): void {
    if (visible === this.store.get().visible) return;
    this.store.update({ visible });
    if (visible) this.start();
    else this.stop();
  }

  chooseTopic(topic: string | null): void {
    if (topic === this.store.get().topic) return;
    this.store.update({ topic, group: null });
    this.deadLetters.clear();
    this.chooseGroup(this.firstGroup());
    this.readDeadLetters();
  }

  chooseGroup(group: string | null): void {
    this.store.update({ group, subscribers: UNREAD, waiting: UNREAD, question: null, explanation: UNREAD });
    this.keepViewNow();
    this.readGroup();
  }

  /** Another page of topics; `wanted` becomes the chosen one where it is there, else the first. */
  showTopicsAfter(pageStarts: readonly (string | null)[], wanted: string | null = null): void {
    this.wantedTopic = wanted;
    this.topicTotal.stop();
    this.store.update({ pageStarts, overview: UNREAD });
    this.chooseTopic(null);
    this.keepViewNow();
    this.readings.overview.start();
  }

  explain(question: Question | null): void {
    this.store.update({ question, explanation: UNREAD });
    this.readExplanation();
  }

  confirm(confirmation: Confirmation | null): void {
    this.store.update({ confirmation });
  }

  /** Runs what was confirmed; what it comes to is a notice or a failure. */
  async carryOut({ title, run }: Confirmation): Promise<void> {
    this.store.update({ confirmation: null, notice: null, failure: null });
    try {
      await run();
    } catch (error) {
      this.store.update({ failure: this.failed(title, error) });
    }
    this.readings.overview.askNow();
    this.readings.waiting.askNow();
  }

  async setPaused(topic: string, group: string, paused: boolean): Promise<void> {
    await this.client.admin.putGroup(topic, group, { paused });
    const { overview } = this.store.get();
    const value = overview.value && withPaused(overview.value, topic, group, paused);
    this.store.update({
      overview: { ...overview, value },
      notice: `${group} of ${topic} is ${paused ? "paused" : "resumed"}`,
    });
  }

  private seen(reply: Overview): void {
    const before = this.store.get();
    if (reply.next !== null || before.pageStarts.length > 1) this.topicTotal.askOnce();
    for (const topic of reply.topics) {
      this.serverClock.observe(topic.takenAt);
      for (const { group, backlog, oldestUnsettledAt } of topic.groups) {
        const oldestAgeMs = oldestUnsettledAt === null ? 0 : Math.max(0, topic.takenAt - oldestUnsettledAt);
        const point = { atMs: topic.takenAt, backlog, oldestAgeMs };
        this.history.add(topic.topic, group, point, topic.topic === before.topic);
      }
    }
    if (this.ports.timers.nowMs() - this.historyKeptAtMs > KEEP_HISTORY_EVERY_MS) this.keepHistoryNow();
    const chosen = chosenTopic(this.store.get());
    // A server that was just started may still count: then the page is shorter, and the rest comes.
    const isYetToCome = reply.next !== null && before.topic !== null && before.topic > reply.next;
    if (chosen === null && !isYetToCome) this.chooseTopic(firstTopic(reply, this.wantedTopic));
    else if (chosen === null) return;
    else if (!chosen.groups.some(({ group }) => group === before.group)) this.chooseGroup(this.firstGroup());
    else if (mayAdminister(before)) this.deadLetters.counted(chosen.deadLetters);
  }

  private firstGroup(): string | null {
    return chosenTopic(this.store.get())?.groups[0]?.group ?? null;
  }

  private readGroup(): void {
    const { topic, group } = this.store.get();
    const { subscribers, waiting } = this.readings;
    for (const poller of [subscribers, waiting]) {
      if (topic === null || group === null) poller.stop();
      else poller.start();
    }
    this.readExplanation();
  }

  private readExplanation(): void {
    if (this.store.get().question === null) this.readings.explanation.stop();
    else this.readings.explanation.start();
  }

  private readDeadLetters(): void {
    const state = this.store.get();
    if (mayAdminister(state) && state.topic !== null) this.deadLetters.start();
    else this.deadLetters.stop();
  }

  /** Whatever fails goes through here: a token that is not taken any more ends the session. */
  private failed(what: string, error: unknown, retryAtMs: number | null = null): Problem {
    const problem = problemOf(what, error, retryAtMs);
    if (problem.status === 401 || problem.code === "unknown-tenant") this.ports.onRefused(problem);
    return problem;
  }

  private tick(): void {
    const { timers } = this.ports;
    this.clock.update({ nowMs: this.serverClock.nowMs() });
    this.cancelTick?.();
    this.cancelTick = timers.after(TICK_MS, () => this.tick());
    this.askAgainWhenChanged();
  }

  /** Time alone has changed what was explained; no more often than the rest is asked for. */
  private askAgainWhenChanged(): void {
    const { value, problem } = this.store.get().explanation;
    if (value === null || value.nextChangeAt === null || problem !== null) return;
    const dueMs = Math.max(value.nextChangeAt, value.at + POLL_MS);
    if (this.serverClock.nowMs() >= dueMs) this.readings.explanation.askNow();
  }

  private keepViewNow(): void {
    const state = this.store.get();
    keepView(this.ports.storage, state.session.tenant, state);
  }

  private keepHistoryNow(): void {
    const { session } = this.store.get();
    this.historyKeptAtMs = this.ports.timers.nowMs();
    const historyKept = keepHistory(this.ports.storage, session.tenant, this.history, this.historyKeptAtMs);
    if (historyKept !== this.store.get().historyKept) this.store.update({ historyKept });
  }
}

/** One with something to see, rather than just the first. */
function firstTopic({ topics }: Overview, wanted: string | null): string | null {
  if (topics.some(({ topic }) => topic === wanted)) return wanted;
  return (topics.find(({ groups }) => groups.length > 0) ?? topics[0])?.topic ?? null;
}

/** Shown before the next snapshot comes. */
function withPaused(overview: Overview, topic: string, group: string, paused: boolean): Overview {
  const topics = overview.topics.map((each) =>
    each.topic === topic
      ? { ...each, groups: each.groups.map((one) => (one.group === group ? { ...one, paused } : one)) }
      : each,
  );
  return { ...overview, topics };
}
