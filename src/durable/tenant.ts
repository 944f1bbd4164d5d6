import { DueQueue } from "../core/due-queue.ts";
import { FairlaneError, fail } from "../core/failure.ts";
import { GROUP_TOMBSTONE_MS, MAX_GROUPS_PER_TOPIC } from "../core/limits.ts";
import { DEFAULT_GROUP_SETTINGS, defaultTopicSettings, type TopicSettings } from "../core/settings.ts";
import type { GroupRecord, MessageLog } from "../log/message-log.ts";
import type { ObjectLog } from "../log/object/object-log.ts";
import { Activity } from "./activity.ts";
import { care, reapSubscribers } from "./care.ts";
import { CheckpointPass } from "./checkpoint-pass.ts";
import { GroupReader } from "./group-reader.ts";
import type { GroupState, LogTraits } from "./group-state.ts";
import { loadGroup } from "./load-group.ts";
import { LogClock } from "./log-clock.ts";
import { LogHealth } from "./log-health.ts";
import type { Ports } from "./ports.ts";
import { PublishQueue } from "./publish-queue.ts";
import { reapRoutes } from "./route-life.ts";
import type { GroupKey } from "./tables/group-key.ts";
import { Tables } from "./tables/tables.ts";
import { groupName, Waiters } from "./waiters.ts";
import { WakeSchedule } from "./wake-schedule.ts";

/**
 * One tenant's queue: what every command works on.
 *
 * States of a group's cache: absent, loaded, gone. A command that awaited anything looks its group up again
 * when it is gone. Invariant: outside `change`, the cache equals the rows (test/sim checks it after each
 * step by loading a second copy). Crash points: between any two awaits, and inside a transaction, which
 * then never happened.
 */
export interface TopicState {
  readonly topic: string;
  settings: TopicSettings;
  groups: Map<string, GroupState>;
  /** Deleted groups, so that a late receive does not bring one back, and no generation comes twice. */
  tombstones: Map<string, GroupRecord>;
}

export class Tenant {
  readonly name: string;
  readonly ports: Ports;
  readonly log: MessageLog;
  /** The log again, where it lives in this object. */
  readonly embedded: ObjectLog | null;
  readonly logTraits: LogTraits;
  readonly tables: Tables;
  readonly waiters = new Waiters();
  readonly logHealth: LogHealth;
  readonly activity: Activity;
  readonly publishQueue: PublishQueue;
  readonly wake: WakeSchedule;
  readonly checkpoints: CheckpointPass;
  /** Groups whose dead letters are being copied in the background. */
  readonly copyingDeadLetters = new Set<string>();
  private readonly shrinks = new Map<string, number>();
  /** When each loaded group next needs to be looked at. */
  readonly groupsDueAt = new DueQueue<GroupState>();
  private readonly topics = new Map<string, TopicState>();
  private readonly readers = new Map<string, GroupReader>();
  private readonly making = new Map<string, Promise<GroupState>>();
  private readonly makingTopics = new Map<string, Promise<TopicState>>();
  private readonly recovering = new Map<GroupState, Promise<void>>();
  private settingsTurn: Promise<unknown> = Promise.resolve();
  private loading: Promise<void> | null = null;
  private loaded = false;

  constructor(name: string, ports: Ports, log: MessageLog, embedded: ObjectLog | null) {
    this.name = name;
    this.ports = ports;
    this.log = log;
    this.embedded = embedded;
    this.logTraits = { clock: new LogClock(log), isOutside: embedded === null };
    this.tables = new Tables(ports.sql);
    this.logHealth = new LogHealth(ports);
    this.activity = new Activity(name, ports);
    this.publishQueue = new PublishQueue(this);
    this.wake = new WakeSchedule(this);
    this.checkpoints = new CheckpointPass(this);
  }

  nowMs(): number {
    return this.ports.clock.nowMs();
  }

  /** All topics, with their groups. Read once; kept current by the commands that change them. */
  async allTopics(): Promise<TopicState[]> {
    await this.load();
    return [...this.topics.values()];
  }

  /** A log outside the object may have a topic that nobody told of: publishing makes topics. */
  async topic(topic: string): Promise<TopicState | null> {
    await this.load();
    const known = this.topics.get(topic);
    if (known || this.embedded) return known ?? null;
    const record = await this.log.loadTopic(topic);
    return record ? this.rememberTopic(topic, record.settings) : null;
  }

  /** All topics, those that publishes made in a log outside the object included. */
  async refreshTopics(): Promise<TopicState[]> {
    await this.load();
    if (!this.embedded) {
      for (const { topic, settings } of await this.log.loadTopics()) this.rememberTopic(topic, settings);
    }
    return [...this.topics.values()];
  }

  async topicOrFail(topic: string): Promise<TopicState> {
    return (await this.topic(topic)) ?? fail("not-found", `topic ${topic} does not exist`);
  }

  /** Makes the topic if it is not there. */
  async ensureTopic(topic: string): Promise<TopicState> {
    const known = await this.topic(topic);
    if (known) return known;
    // Calls that meet make it once: the defaults of a later one must not replace settings put since.
    const making =
      this.makingTopics.get(topic) ?? this.makeTopic(topic).finally(() => this.makingTopics.delete(topic));
    this.makingTopics.set(topic, making);
    return making;
  }

  /** Changes of settings one after the other: the log and the cache must end with the same one. */
  changeSettings<T>(act: () => Promise<T>): Promise<T> {
    const turn = this.settingsTurn.then(act, act);
    this.settingsTurn = turn.catch(() => undefined);
    return turn;
  }

  private async makeTopic(topic: string): Promise<TopicState> {
    await this.log.saveTopic(topic, defaultTopicSettings(topic));
    return this.rememberTopic(topic, defaultTopicSettings(topic));
  }

  /** Takes note of a topic that the log made by itself (a publish, a dead letter). */
  rememberTopic(topic: string, settings: TopicSettings): TopicState {
    const known = this.topics.get(topic);
    if (known) return known;
    const state: TopicState = { topic, settings, groups: new Map(), tombstones: new Map() };
    if (this.loaded) this.topics.set(topic, state);
    return state;
  }

  async group(topic: string, group: string): Promise<GroupState | null> {
    const state = await this.topic(topic);
    const known = state?.groups.get(group);
    if (!state || !known) return null;
    const current = known.gone ? this.reload(state, known) : known;
    if (!current.needsRecovery) return current;
    await this.recoverOnce(current);
    return this.group(topic, group);
  }

  private recoverOnce(group: GroupState): Promise<void> {
    const recovering =
      this.recovering.get(group) ?? this.recover(group).finally(() => this.recovering.delete(group));
    this.recovering.set(group, recovering);
    return recovering;
  }

  /**
   * This object has no rows of the group: it is new, or the object before it was lost. Then the log knows what was
   * settled of the entries that are there by now; the group reads them again and leaves that out.
   */
  private async recover(group: GroupState): Promise<void> {
    const { topic, group: name } = group.key;
    const tail = await this.log.tail(topic);
    const resetEpoch = await this.log.highestResetEpoch(topic, name, group.record.generation);
    if (group.gone || !group.needsRecovery) return;
    this.change(group, () => {
      group.needsRecovery = false;
      group.progress.recoverThrough = tail.offset;
      group.progress.resetEpoch = Math.max(group.progress.resetEpoch, resetEpoch);
      group.touchProgress();
    });
  }

  /** As the cache has it, without reading anything. */
  loadedGroup(topic: string, group: string): GroupState | null {
    const known = this.topics.get(topic)?.groups.get(group);
    return known && !known.gone ? known : null;
  }

  async groupOrFail(topic: string, group: string): Promise<GroupState> {
    return (
      (await this.group(topic, group)) ?? fail("not-found", `group ${group} of topic ${topic} does not exist`)
    );
  }

  /** The group, made with the defaults if it is not there: a receive on a new name. */
  async ensureGroup(topic: string, group: string): Promise<GroupState> {
    const known = await this.group(topic, group);
    if (known) return known;
    const state = await this.ensureTopic(topic);
    const tombstone = state.tombstones.get(group);
    const deletedForMs = this.nowMs() - (tombstone?.deletedAtMs ?? Number.NEGATIVE_INFINITY);
    if (deletedForMs >= 0 && deletedForMs < GROUP_TOMBSTONE_MS) {
      fail(
        "not-found",
        `group ${group} of topic ${topic} was deleted less than a minute ago; a PUT of the group makes it again at once`,
      );
    }
    return this.makeGroup(state, group, { ...DEFAULT_GROUP_SETTINGS }, "receive");
  }

  /** Writes a new group to the log, then adopts it. Calls that meet make one group. */
  makeGroup(
    state: TopicState,
    group: string,
    settings: GroupRecord["settings"],
    createdBy: GroupRecord["createdBy"],
  ): Promise<GroupState> {
    const name = groupName({ topic: state.topic, group });
    const making =
      this.making.get(name) ??
      this.makeGroupOnce(state, group, settings, createdBy).finally(() => this.making.delete(name));
    this.making.set(name, making);
    return making;
  }

  private async makeGroupOnce(
    state: TopicState,
    group: string,
    settings: GroupRecord["settings"],
    createdBy: GroupRecord["createdBy"],
  ): Promise<GroupState> {
    if (state.groups.size >= MAX_GROUPS_PER_TOPIC) {
      fail("rate-limited", `a topic has at most ${MAX_GROUPS_PER_TOPIC} groups`, { retryAfterMs: 60_000 });
    }
    const tail = await this.log.tail(state.topic);
    const record: GroupRecord = {
      group,
      generation: this.nextGeneration(state, group),
      settings,
      createdBy,
      startOffset: settings.startFrom === "latest" ? tail.offset : 0,
      deletedAtMs: null,
    };
    await this.log.saveGroup(state.topic, record);
    const made = this.adopt(state, record);
    // Nobody can have settled anything for it.
    made.needsRecovery = false;
    this.activity.rose();
    return made;
  }

  /** The group's rows as they are now, for a settings change that was written to the log. */
  adopt(state: TopicState, record: GroupRecord): GroupState {
    const before = state.groups.get(record.group);
    if (before) this.dropCache(before);
    const key = { tenant: this.name, topic: state.topic, group: record.group };
    const group = this.loadGroup(key, record, state.settings);
    if (before) carryOver(before, group);
    state.groups.set(record.group, group);
    state.tombstones.delete(record.group);
    this.reschedule(group);
    return group;
  }

  /**
   * Changes a group: decide and write, without an await in between. What time did to it comes first, so
   * `act` sees no dead subscriber's lease and no spent delivery. A throw undoes everything.
   */
  change<T>(group: GroupState, act: (nowMs: number) => T): T {
    if (group.gone)
      fail("store-unavailable", "the group's state was reloaded, try again", { retryAfterMs: 100 });
    const nowMs = this.nowMs();
    const routesVersion = group.routes.version;
    try {
      const result = this.ports.sql.transaction(() => {
        reapSubscribers(group, nowMs, this.waiters);
        reapRoutes(group, nowMs, this.waiters);
        group.lanes.advance((routeId) => group.rules(nowMs, routeId), nowMs);
        care(group, nowMs);
        const value = act(nowMs);
        group.flush(this.tables);
        return value;
      });
      this.reschedule(group);
      // Messages have other owners now, whoever noticed that a route is over.
      if (group.routes.version !== routesVersion) this.wake.pump(group.key);
      return result;
    } catch (error) {
      this.dropCache(group);
      throw error;
    }
  }

  reader(ref: { topic: string; group: string }): GroupReader {
    const name = groupName(ref);
    const known = this.readers.get(name);
    if (known) return known;
    const reader = new GroupReader(this, () => this.group(ref.topic, ref.group));
    this.readers.set(name, reader);
    return reader;
  }

  /** When the next delayed message is due in a group where somebody waits, by the object's clock. */
  nextDueAtMs(): number | null {
    let earliest: number | null = null;
    for (const { topic, group } of this.waiters.groups()) {
      const dueAtMs = this.loadedGroup(topic, group)?.nextDueAtMs ?? null;
      if (dueAtMs !== null && (earliest === null || dueAtMs < earliest)) earliest = dueAtMs;
    }
    return earliest === null ? null : earliest - this.logTraits.clock.aheadMs;
  }

  /** A log outside the object has new messages in this topic: what groups have read of it is not all. */
  noteHint(topic: string, lowestOffset: number | null): void {
    if (this.embedded) return;
    const nowMs = this.nowMs();
    for (const group of this.topics.get(topic)?.groups.values() ?? []) group.noteHint(lowestOffset, nowMs);
  }

  /** Messages of the topic were deleted: progress of partitions without any may have to go. */
  noteShrunk(topic: string): void {
    this.shrinks.set(topic, this.shrinkCount(topic) + 1);
  }

  /** How often that happened. Memory only. */
  shrinkCount(topic: string): number {
    return this.shrinks.get(topic) ?? 0;
  }

  /** Forgets a cache; the next look-up reads the rows again. */
  dropCache(group: GroupState): void {
    group.gone = true;
    this.groupsDueAt.set(group, null);
    // Whoever waits in it is tried again on what the rows say.
    this.wake.pump(group.key);
  }

  reschedule(group: GroupState): void {
    this.groupsDueAt.set(group, this.wake.nextEventAtMs(group));
    this.wake.arm();
  }

  private reload(state: TopicState, stale: GroupState): GroupState {
    const group = this.loadGroup(stale.key, stale.record, state.settings);
    carryOver(stale, group);
    state.groups.set(stale.key.group, group);
    this.reschedule(group);
    return group;
  }

  private loadGroup(key: GroupKey, record: GroupRecord, settings: TopicSettings): GroupState {
    return loadGroup(this.tables, key, record, settings, this.logTraits, this.nowMs());
  }

  private nextGeneration(state: TopicState, group: string): number {
    // Within a name only: the topic and the group stand beside the generation wherever it is compared.
    const before = state.groups.get(group)?.record ?? state.tombstones.get(group);
    return Math.max((before?.generation ?? 0) + 1, this.nowMs());
  }

  private async load(): Promise<void> {
    if (this.loaded) return;
    this.loading ??= this.loadAll().finally(() => {
      this.loading = null;
    });
    await this.loading;
  }

  private async loadAll(): Promise<void> {
    const found = new Map<string, TopicState>();
    const records = await this.log.loadAllGroups();
    // After the groups: a group whose topic is not there would be one that was made in between.
    for (const { topic, settings } of await this.log.loadTopics()) {
      found.set(topic, { topic, settings, groups: new Map(), tombstones: new Map() });
    }
    if (this.loaded) return;
    for (const { topic, record } of records) {
      const state = found.get(topic);
      if (!state) continue;
      if (record.deletedAtMs !== null) state.tombstones.set(record.group, record);
      else {
        const key = { tenant: this.name, topic, group: record.group };
        state.groups.set(record.group, this.loadGroup(key, record, state.settings));
      }
    }
    for (const state of found.values()) {
      this.topics.set(state.topic, state);
      for (const group of state.groups.values()) this.reschedule(group);
    }
    this.loaded = true;
  }
}

/** What a hint said must not be lost with the cache: an entry may have appeared below what was read. */
function carryOver(before: GroupState, after: GroupState): void {
  after.rereadFrom = before.rereadFrom;
}

export function failureOf(error: unknown): FairlaneError["failure"] | null {
  return error instanceof FairlaneError ? error.failure : null;
}
