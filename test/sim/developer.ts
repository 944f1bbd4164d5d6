import type { Outcome, TakeReply } from "../../src/protocol/tenant-calls.ts";
import type { Filter } from "../../src/splitting/filter/filter.ts";
import type { ObjectHost } from "./object-host.ts";
import type { Prng } from "./prng.ts";
import type { GroupPlan, Profile } from "./profile.ts";
import { Settling } from "./settling.ts";
import { type DeveloperAct, drawFilter, type SplitPlan } from "./split-plan.ts";
import type { World } from "./world.ts";

/**
 * A developer with a route of a group: starts it, consumes from it, and ends it in every way there is.
 *
 *   away -> attached   a PUT that was answered well
 *   attached -> away   the DELETE, or silence until it expires, or a receive that says that it has ended
 */
export class Developer {
  private readonly world: World;
  private readonly host: ObjectHost;
  private readonly profile: Profile;
  private readonly plan: GroupPlan;
  private readonly split: SplitPlan;
  private readonly prng: Prng;
  private readonly name: string;
  private readonly settling: Settling;
  private filter: Filter;
  private ttlMs: number;
  private attached = false;
  private takes = 0;
  private stopped = false;

  constructor(
    world: World,
    host: ObjectHost,
    profile: Profile,
    plan: GroupPlan,
    split: SplitPlan,
    prng: Prng,
    name: string,
  ) {
    this.world = world;
    this.host = host;
    this.profile = profile;
    this.plan = plan;
    this.split = split;
    this.prng = prng;
    this.name = name;
    this.settling = new Settling(world, host, profile, plan, prng);
    this.filter = drawFilter(prng, name, profile.partitionKeys);
    this.ttlMs = prng.pick(split.ttlsMs);
  }

  start(): void {
    this.later(this.prng.int(0, 5000));
  }

  /** No call comes from here any more but for what is under way. */
  stop(): void {
    this.stopped = true;
  }

  private get ref(): { topic: string; group: string; route: string } {
    return { topic: this.plan.topic, group: this.plan.group, route: this.name };
  }

  private later(delayMs: number): void {
    this.world.after(delayMs, `${this.name} of ${this.plan.group} wakes`, () => this.next());
  }

  private next(): void {
    if (this.stopped) return;
    if (!this.attached) this.put(false);
    else this.act(this.prng.weighted(this.split.acts));
  }

  private act(act: DeveloperAct): void {
    const { prng } = this;
    switch (act) {
      case "take":
        this.take();
        break;
      case "renew":
        this.put(false);
        break;
      case "refilter":
        this.put(true);
        break;
      case "stop":
        this.attached = false;
        this.host.send("deleteRoute", this.ref, () => this.later(prng.pick([0, 500, 5000, 15_000])));
        break;
      case "abandon":
        for (const subscriber of this.subscribers) {
          const { topic, group } = this.plan;
          this.host.send("leave", { topic, group, subscriber }, () => {});
        }
        this.later(prng.int(0, 2 * this.ttlMs));
        break;
      case "crash":
        this.later(prng.int(this.ttlMs, 4 * this.ttlMs));
        break;
      case "look":
        this.host.send("listRoutes", { topic: this.plan.topic, group: this.plan.group }, () => {});
        this.host.send("getRoute", this.ref, () => {});
        this.later(100);
        break;
    }
  }

  private put(anew: boolean): void {
    const { prng } = this;
    if (anew || (!this.attached && prng.chance(0.3))) {
      this.filter = drawFilter(prng, this.name, this.profile.partitionKeys);
      this.ttlMs = prng.pick(this.split.ttlsMs);
    }
    const { filter, ttlMs } = this;
    this.host.send("putRoute", { ...this.ref, filter, ttlMs }, (reply) => {
      this.attached = reply?.ok ?? false;
      if (reply && !reply.ok) this.filter = drawFilter(prng, this.name, this.profile.partitionKeys);
      this.later(this.attached ? prng.pick([0, 10, 200]) : prng.int(200, 3000));
    });
  }

  private get subscribers(): string[] {
    return [1, 2].map((at) => `${this.plan.topic}.${this.plan.group}.${this.name}-${at}`);
  }

  private take(): void {
    const { prng, profile } = this;
    const { topic, group } = this.plan;
    this.takes += 1;
    const subscriber = prng.pick(this.subscribers);
    const takeId = `${subscriber}/${this.takes}`;
    const input = {
      ...{ ...this.ref, subscriber, takeId },
      maxMessages: prng.pick([1, 2, 5, 10]),
      waitMs: prng.chance(profile.waiting) ? prng.pick([300, 2000, 10_000]) : 0,
      visibilityTimeoutMs: prng.chance(0.3) ? prng.pick([1000, 20_000]) : null,
    };
    if (prng.chance(0.1)) this.host.send("heartbeat", { topic, group, subscriber }, () => {});
    this.host.send("take", input, (reply) => this.onTake(subscriber, takeId, reply));
  }

  private onTake(subscriber: string, takeId: string, reply: Outcome<TakeReply> | null): void {
    const { prng } = this;
    const { topic, group } = this.plan;
    this.later(prng.pick([0, 100, 500, 1500]));
    if (reply === null && prng.chance(0.7))
      this.host.send("giveBack", { topic, group, takeId, receipts: [] }, () => {});
    // It has ended, or the object was lost: it is put again.
    if (reply && !reply.ok && reply.error.code === "not-found") this.attached = false;
    if (!reply?.ok || reply.value.deliveries.length === 0) return;
    const { deliveries } = reply.value;
    if (prng.chance(this.profile.giveBack)) {
      const receipts = deliveries.map(({ receipt }) => receipt);
      this.host.send("giveBack", { topic, group, takeId, receipts }, () => {});
      return;
    }
    this.settling.settleInParts(subscriber, deliveries);
  }
}
