import { isDeadLetterTopic } from "../core/settings.ts";
import { MAX_OVERVIEW_AGE_MS } from "../protocol/overview.ts";
import type { Tenant, TopicState } from "./tenant.ts";
import { type TopicSnapshot, takeTopicSnapshot } from "./topic-snapshot.ts";

/**
 * Snapshots of topics for people, in memory. However many ask, a topic is counted at most once an interval; one topic
 * is counted at a time in the whole object; and after each the object does without for a time that grows with what it
 * cost. So pages held open take a bounded part of an object's time, and of a database's statements.
 *
 *   absent    never taken, given up for others, or too old to be shown: who asks waits
 *   fresh     younger than the interval: shown as it is
 *   ageing    asked for, it is taken anew, and shown meanwhile
 *
 * A topic in `wanted` is about to be counted or being counted: calls that meet share the outcome. A failure is the
 * outcome of those calls and leaves nothing behind.
 */

/** A topic is counted at most once in so long. */
const INTERVAL_MS = 3000;
/**
 * Rows are paid for by a pause: 10,000 in a second. One is counted in a microsecond, or in seven where bodies of some
 * kilobytes lie between, so this is one to seven per cent of an object's time.
 */
const ROWS_PER_PAUSE_MS = 10;
/** A single snapshot, however large, does not stop the others for longer. */
const MAX_PAUSE_MS = 20_000;
/** While the log fails it is asked so often. */
const FAILURE_PAUSE_MS = 1000;
/** Memory: so many topics, each with its groups. Ten full pages. */
const MAX_SNAPSHOTS = 200;

interface Wanted {
  taken: Promise<void>;
  settle(error: unknown): void;
  /** Calls that wait for it now; others are content with what they were shown. */
  waiting: number;
}

export class TopicSnapshots {
  private readonly tenant: Tenant;
  private readonly snapshots = new Map<string, TopicSnapshot>();
  private readonly wanted = new Map<string, Wanted>();
  private running = false;
  private refreshing: Promise<TopicState[]> | null = null;
  private refreshedAtMs = Number.NEGATIVE_INFINITY;

  constructor(tenant: Tenant) {
    this.tenant = tenant;
  }

  /** Topics in order of their names, without dead-letter topics. A log outside the object is asked once an interval. */
  async topics(): Promise<TopicState[]> {
    const topics = this.isWithin(this.refreshedAtMs, INTERVAL_MS)
      ? await this.tenant.allTopics()
      : await this.refresh();
    return topics
      .filter(({ topic }) => !isDeadLetterTopic(topic))
      .sort((a, b) => (a.topic < b.topic ? -1 : 1));
  }

  isFresh(topic: string): boolean {
    const endedAtMs = this.snapshots.get(topic)?.endedAtMs;
    return endedAtMs !== undefined && this.isWithin(endedAtMs, INTERVAL_MS);
  }

  /** What may be shown. */
  latest(topic: string): TopicSnapshot | null {
    const snapshot = this.snapshots.get(topic);
    return snapshot && this.isWithin(snapshot.endedAtMs, MAX_OVERVIEW_AGE_MS) ? snapshot : null;
  }

  /** Has the topics counted. Resolves when all are, or after `maxMs`; rejects when one cannot be. */
  async count(topics: readonly string[], maxMs: number): Promise<void> {
    const wanted = topics.map((topic) => this.want(topic));
    let cancel = () => {};
    const late = new Promise<void>((resolve) => {
      cancel = this.tenant.ports.timers.after(maxMs, resolve);
    });
    for (const each of wanted) each.waiting += 1;
    try {
      await Promise.race([Promise.all(wanted.map(({ taken }) => taken)), late]);
    } finally {
      cancel();
      for (const each of wanted) each.waiting -= 1;
    }
  }

  private refresh(): Promise<TopicState[]> {
    this.refreshing ??= this.tenant
      .refreshTopics()
      .then((topics) => {
        this.refreshedAtMs = this.tenant.nowMs();
        return topics;
      })
      .finally(() => {
        this.refreshing = null;
      });
    return this.refreshing;
  }

  private want(topic: string): Wanted {
    const known = this.wanted.get(topic);
    if (known) return known;
    let settle: Wanted["settle"] = () => {};
    const taken = new Promise<void>((resolve, reject) => {
      settle = (error) => (error === null ? resolve() : reject(error));
    });
    const wanted: Wanted = { taken, settle, waiting: 0 };
    this.wanted.set(topic, wanted);
    if (!this.running) {
      this.running = true;
      this.run().catch((error: unknown) => this.tenant.ports.report("snapshots", error));
    }
    return wanted;
  }

  /** Counts one topic after the other while any is wanted, with a pause after each. */
  private async run(): Promise<void> {
    try {
      for (let next = this.next(); next !== null; next = this.next()) await this.pause(await this.take(next));
    } finally {
      this.running = false;
    }
  }

  /** Those that a call waits for come first. */
  private next(): string | null {
    let first: string | null = null;
    for (const [topic, { waiting }] of this.wanted) {
      if (waiting > 0) return topic;
      first ??= topic;
    }
    return first;
  }

  /** Returns how long the object then does without. */
  private async take(topic: string): Promise<number> {
    let failure: { error: unknown } | null = null;
    let pauseMs = FAILURE_PAUSE_MS;
    try {
      const { snapshot, rows } = await takeTopicSnapshot(this.tenant, topic);
      this.keep(snapshot);
      pauseMs = Math.min(MAX_PAUSE_MS, Math.ceil(rows / ROWS_PER_PAUSE_MS));
    } catch (error) {
      failure = { error };
    }
    const wanted = this.wanted.get(topic);
    this.wanted.delete(topic);
    wanted?.settle(failure?.error ?? null);
    if (failure) this.giveUpUnawaited(wanted, failure.error);
    return pauseMs;
  }

  /** What nobody waits for is not tried one by one while the log fails; the next call wants it again. */
  private giveUpUnawaited(failed: Wanted | undefined, error: unknown): void {
    if (failed?.waiting === 0) this.tenant.ports.report("snapshots", error);
    for (const [topic, { waiting }] of this.wanted) if (waiting === 0) this.wanted.delete(topic);
  }

  private keep(snapshot: TopicSnapshot): void {
    this.snapshots.delete(snapshot.topic);
    this.snapshots.set(snapshot.topic, snapshot);
    for (const oldest of this.snapshots.keys()) {
      if (this.snapshots.size <= MAX_SNAPSHOTS) return;
      this.snapshots.delete(oldest);
    }
  }

  private pause(pauseMs: number): Promise<void> {
    return new Promise((resolve) => {
      this.tenant.ports.timers.after(pauseMs, resolve);
    });
  }

  /** A time in the future is of a clock that stepped back: nothing is known of its age. */
  private isWithin(atMs: number, maxAgeMs: number): boolean {
    const ageMs = this.tenant.nowMs() - atMs;
    return ageMs >= 0 && ageMs < maxAgeMs;
  }
}

/** One for each object in this process, for as long as its tenant lives. */
const snapshotsByTenant = new WeakMap<Tenant, TopicSnapshots>();

export function snapshotsOf(tenant: Tenant): TopicSnapshots {
  const known = snapshotsByTenant.get(tenant) ?? new TopicSnapshots(tenant);
  snapshotsByTenant.set(tenant, known);
  return known;
}
