import type { CommandInput, CommandName, CommandValue } from "../../src/durable/engine.ts";
import type { Outcome } from "../../src/protocol/tenant-calls.ts";
import { probeLateMessages } from "./late-probe.ts";
import type { ObjectHost } from "./object-host.ts";
import type { GroupPlan, Profile } from "./profile.ts";
import { DEVELOPERS } from "./split-plan.ts";
import type { World } from "./world.ts";

/** Rows of the object that are about something unsettled, leased or alive, whatever tables hold them. */
const HELD_TABLES =
  "name LIKE 'queue_delivery%' OR name LIKE 'queue_partition_l%' OR name LIKE 'queue_subscriber%' OR name LIKE 'queue_route%'";
/** Longer than any delay, backoff, postponement, visibility and lease of the load. */
const SETTLED_MS = 60_000;
/** Longer than any backoff and postponement. */
const SPLIT_SETTLED_MS = 10_000;
/** By any clock reading: jumps and delays of a run stay below it. */
const LONGEST_RUN_MS = 2 * 24 * 3_600_000;
/** Small beside the grace in which a subscriber still counts as asking. */
const ASK_STEP_MS = 20;
const MAX_ROUNDS = 12;
/** Receives of one drain beyond one for each message: a strict lane gives no more. */
const SPARE_TAKES = 100;
const MAX_COLLECTIONS = 40;
const SHARE_MESSAGES = 16;
const SHARE_ROUNDS = 4;

/**
 * The end of a run: no faults any more, all delays pass, everything is taken and acknowledged. Then nothing may
 * be left: no lane, exception, lease or subscriber, and after the retention no message that collection may take.
 */
export class Finale {
  private readonly world: World;
  private readonly host: ObjectHost;
  private readonly profile: Profile;
  private takes = 0;
  private rested = true;

  constructor(world: World, host: ObjectHost, profile: Profile) {
    this.world = world;
    this.host = host;
    this.profile = profile;
  }

  /** Returns false when the world did not come to rest. */
  async run(): Promise<boolean> {
    await this.pass(this.clockLagMs() + SETTLED_MS);
    await this.checkSettings();
    await this.removeStrangers();
    const { retentionMs, maxRetentionMs } = this.profile;
    for (const topic of this.profile.topics) {
      await this.ask("putTopic", { topic, settings: { retentionMs, maxRetentionMs } });
    }
    for (const plan of this.profile.groups) {
      await this.ask("putGroup", {
        topic: plan.topic,
        group: plan.group,
        settings: { ...plan.settings, paused: false },
      });
    }
    await this.drainSplit();
    await this.drain();
    if (this.profile.sharesOut) for (const plan of this.profile.groups) await this.shareOut(plan);
    await this.drain();
    await this.probeLate();
    await this.loseObject();
    await this.pass(SETTLED_MS);
    this.checkNothingLeft();
    await this.checkFigures();
    await this.collectAll();
    return this.rested;
  }

  /** How far the clock is behind the highest reading it ever had: due times may lie there. */
  private clockLagMs(): number {
    const { history } = this.host;
    const nowMs = this.host.nowMs();
    return history.highestClockMs(history.seq(), nowMs) - nowMs;
  }

  private async pass(lastsMs: number): Promise<void> {
    this.rested = (await this.world.runUntil(this.world.trueMs + lastsMs)) && this.rested;
  }

  private async ask<N extends CommandName>(name: N, input: CommandInput<N>): Promise<CommandValue<N> | null> {
    let reply: Outcome<CommandValue<N>> | null | undefined;
    this.host.send(name, input, (value) => {
      reply = value;
    });
    for (let waited = 0; reply === undefined && waited < 1000; waited += 1) await this.pass(ASK_STEP_MS);
    if (!reply) this.host.history.violate("G11", `${name} was never answered although nothing failed`);
    else if (!reply.ok) {
      this.host.history.violate(
        "G11",
        `${name} failed although nothing else did: ${JSON.stringify(reply.error)}`,
      );
    }
    return reply?.ok ? reply.value : null;
  }

  /**
   * Groups that came back: in a log outside, the making of one whose object went meanwhile may take effect after it
   * was deleted. Nobody reads them.
   */
  private async removeStrangers(): Promise<void> {
    if (!this.profile.lateness || this.profile.admin === 0) return;
    const ours = new Set(this.profile.groups.map(({ topic, group }) => `${topic}/${group}`));
    for (const topic of new Set(this.profile.groups.map((plan) => plan.topic))) {
      const view = await this.ask("getTopic", { topic });
      for (const { group } of view?.groups ?? []) {
        if (ours.has(`${topic}/${group}`)) continue;
        await this.ask("deleteGroup", { topic, group, force: true });
      }
    }
  }

  /** Settings that were answered hold, also in the object's next life. */
  private async checkSettings(): Promise<void> {
    const before = await this.settings();
    this.host.crash("for a second look");
    const after = await this.settings();
    if (after !== before)
      this.host.history.violate("G11", `settings were ${before}, after a new start they are ${after}`);
    const { retentionMs, maxRetentionMs, topics, groups } = this.profile;
    const asked = JSON.stringify([
      ...topics.map((topic) => [topic, retentionMs, maxRetentionMs]),
      ...groups.map((plan) => ({ ...plan.settings, paused: false, createdBy: "admin" })),
    ]);
    // A group that was deleted comes back with the defaults.
    if (this.host.history.of("deleteGroup").length > 0 || before === asked) return;
    this.host.history.violate("G11", `settings are ${before}, answered were ${asked}`);
  }

  private async settings(): Promise<string> {
    const found: unknown[] = [];
    for (const topic of this.profile.topics) {
      const view = await this.ask("getTopic", { topic });
      found.push([topic, view?.retentionMs, view?.maxRetentionMs]);
    }
    for (const { topic, group } of this.profile.groups) {
      if (this.host.history.of("deleteGroup").length > 0) break;
      const view = await this.ask("getGroup", { topic, group });
      found.push({ ...view, paused: false });
    }
    return JSON.stringify(found);
  }

  private async drain(): Promise<void> {
    let emptyRounds = 0;
    for (let round = 0; round < MAX_ROUNDS && emptyRounds < 2; round += 1) {
      let taken = 0;
      for (const plan of this.profile.groups) taken += await this.drainGroup(plan);
      emptyRounds = taken === 0 ? emptyRounds + 1 : 0;
      await this.pass(SETTLED_MS);
    }
  }

  /** Developers are gone, and their routes: one comes back, and each party takes what is its own. */
  private async drainSplit(): Promise<void> {
    const { split, groups } = this.profile;
    const [route] = DEVELOPERS;
    if (!split || route === undefined) return;
    for (const plan of groups.slice(0, split.splitGroups)) {
      const ref = { topic: plan.topic, group: plan.group, route };
      const filter = { header: "x-dev", equals: route };
      await this.ask("putRoute", { ...ref, filter, ttlMs: MAX_ROUNDS * SETTLED_MS });
      let emptyRounds = 0;
      for (let round = 0; round < MAX_ROUNDS && emptyRounds < 2; round += 1) {
        const taken = (await this.drainGroup(plan, route)) + (await this.drainGroup(plan));
        emptyRounds = taken === 0 ? emptyRounds + 1 : 0;
        await this.pass(SPLIT_SETTLED_MS);
      }
      const view = await this.ask("getRoute", ref);
      if (view && view.backlog + view.inFlight > 0)
        this.host.history.violate("split", `route ${route} of ${plan.group} keeps ${JSON.stringify(view)}`);
      await this.ask("deleteRoute", ref);
    }
  }

  private async drainGroup(plan: GroupPlan, route?: string): Promise<number> {
    const subscriber = route === undefined ? "drain" : `drain-${route}`;
    let taken = 0;
    const maxTakes = this.host.history.rows.length + SPARE_TAKES;
    for (let take = 0; take < maxTakes; take += 1) {
      const deliveries = await this.take(plan, subscriber, 100, route);
      if (deliveries.length === 0) return taken;
      taken += deliveries.length;
      await this.ackAll(plan, subscriber, deliveries);
    }
    this.host.history.violate("G2", `group ${plan.group} still gets messages after ${maxTakes} receives`);
    return taken;
  }

  private async take(plan: GroupPlan, subscriber: string, maxMessages: number, route?: string) {
    this.takes += 1;
    const { topic, group } = plan;
    const takeId = `finale/${this.takes}`;
    const input = {
      ...{ topic, group, subscriber, maxMessages, waitMs: 0, visibilityTimeoutMs: null, takeId },
      ...(route === undefined ? {} : { route }),
    };
    return (await this.ask("take", input))?.deliveries ?? [];
  }

  private async ackAll(
    plan: GroupPlan,
    subscriber: string,
    deliveries: readonly { receipt: string }[],
  ): Promise<void> {
    const { topic, group } = plan;
    const settlements = deliveries.map(({ receipt }) => ({ receipt, action: "ack" as const }));
    const results = await this.ask("settle", { topic, group, subscriber, settlements });
    for (const { status } of results ?? []) {
      if (status !== "ok") this.host.history.violate("G5", `an ack in the quiet end was answered ${status}`);
    }
  }

  /**
   * Fair share: with several subscribers that ask all the time, each is served from floor(P/S) to ceil(P/S) of
   * P equally deep lanes once all have asked twice.
   */
  private async shareOut(plan: GroupPlan): Promise<void> {
    const { topic } = plan;
    const keys = this.profile.partitionKeys.slice(0, 6);
    if (plan.subscribers < 2 || keys.length < 2 || !this.profile.topics.includes(topic)) return;
    for (const partitionKey of keys) {
      const messages = Array.from({ length: SHARE_MESSAGES }, (_, at) => ({
        id: `share/${plan.group}/${at}`,
        partitionKey,
        body: `${at}`,
        contentType: null,
        headers: "",
        delayMs: 0,
      }));
      await this.ask("publish", { topic, messages });
    }
    const share = Math.ceil(keys.length / plan.subscribers);
    const least = Math.floor(keys.length / plan.subscribers);
    for (let round = 1; round <= SHARE_ROUNDS; round += 1) {
      for (let member = 0; member < plan.subscribers; member += 1) {
        const name = `share-${member}`;
        const deliveries = await this.take(plan, name, share + 1);
        const lanes = new Set(deliveries.map(({ partitionKey }) => partitionKey)).size;
        if (round > 2 && (lanes > share || lanes < least)) {
          const detail = `${name} of ${plan.group} was served from ${lanes} of ${keys.length} lanes, not ${least} to ${share}`;
          this.host.history.violate("G4", `fair share: ${detail}`);
        }
        await this.ackAll(plan, name, deliveries);
      }
    }
  }

  private async probeLate(): Promise<void> {
    const { lateness, partitionKeys } = this.profile;
    const plan = this.profile.groups.find(({ topic }) => this.profile.topics.includes(topic));
    const [partitionKey] = partitionKeys;
    if (!lateness || !plan || partitionKey === undefined) return;
    await probeLateMessages(this.host, lateness, plan, partitionKey, {
      pass: (lastsMs) => this.pass(lastsMs),
      take: (group) => this.take(group, "probe", 100),
      ack: async (group, deliveries) => {
        if (deliveries.length > 0) await this.ackAll(group, "probe", deliveries);
      },
    });
    // The other groups got it as well.
    await this.drain();
  }

  /** Everything was settled long ago: a new object knows that from the log alone, and nothing comes again. */
  private async loseObject(): Promise<void> {
    if (this.profile.faults.objectLoss === 0) return;
    this.host.lose();
    await this.drain();
  }

  private checkNothingLeft(): void {
    const { history, sql } = this.host;
    for (const { name } of sql.all(
      `SELECT name FROM sqlite_master WHERE type = 'table' AND (${HELD_TABLES})`,
    )) {
      const table = String(name);
      const rows = sql.all(`SELECT * FROM ${table}`);
      if (rows.length > 0)
        history.violate("G11", `${table} still holds ${rows.length} rows: ${JSON.stringify(rows[0])}`);
    }
    const { callsUnderWay } = this.host;
    if (callsUnderWay > 0) history.violate("G11", `${callsUnderWay} calls were never answered`);
  }

  /** What people are shown: nothing waits, nothing is in flight, nothing expired that was not old. */
  private async checkFigures(): Promise<void> {
    const { history } = this.host;
    for (const topic of new Set(this.profile.groups.map((plan) => plan.topic))) {
      const view = await this.ask("getTopic", { topic });
      for (const { group, backlog, inFlight, expired, subscribers } of view?.groups ?? []) {
        const shown = `${topic}/${group} shows a backlog of ${backlog}, ${inFlight} in flight, ${subscribers} subscribers`;
        if (backlog + inFlight + subscribers > 0) history.violate("G11", `${shown} with everything settled`);
        // Removed by an admin, a message may end as expired; else only by age, which nothing reaches.
        const old = this.profile.admin > 0 || this.profile.maxRetentionMs < LONGEST_RUN_MS;
        if (!old && expired > 0)
          history.violate("G11", `${topic}/${group} shows ${expired} expired messages, and none was old`);
      }
    }
  }

  /** With everything settled and old enough, collection takes it all, in bounded passes. */
  private async collectAll(): Promise<void> {
    if (this.profile.collect === 0) return;
    const { history } = this.host;
    await this.pass(this.profile.retentionMs + 1000);
    for (let turn = 0; turn < MAX_COLLECTIONS; turn += 1) {
      const pass = await this.ask("collect", {});
      if (!pass || pass.stopped === "done") break;
    }
    for (const topic of this.profile.topics) {
      if (!this.profile.groups.some((plan) => plan.topic === topic)) continue;
      const left = this.host.messagesOf(topic);
      if (left > 0) history.violate("G10", `collection left ${left} settled messages of ${topic}`);
    }
  }
}
