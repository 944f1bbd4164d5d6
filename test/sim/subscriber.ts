import type { Outcome, TakeReply } from "../../src/protocol/tenant-calls.ts";
import type { ObjectHost } from "./object-host.ts";
import type { Prng } from "./prng.ts";
import type { GroupPlan, Profile } from "./profile.ts";
import { Settling } from "./settling.ts";
import type { World } from "./world.ts";

/** One member of a group: takes, settles in every way the profile has, leaves, vanishes, comes back. */
export class Subscriber {
  private readonly world: World;
  private readonly host: ObjectHost;
  private readonly profile: Profile;
  private readonly plan: GroupPlan;
  private readonly prng: Prng;
  private readonly name: string;
  private readonly settling: Settling;
  private takes = 0;
  private stopped = false;

  constructor(world: World, host: ObjectHost, profile: Profile, plan: GroupPlan, prng: Prng, name: string) {
    this.world = world;
    this.host = host;
    this.profile = profile;
    this.plan = plan;
    this.prng = prng;
    this.name = name;
    this.settling = new Settling(world, host, profile, plan, prng);
  }

  start(): void {
    this.later(this.prng.int(0, 3000));
  }

  /** It takes no more; what it has under way goes on. */
  stop(): void {
    this.stopped = true;
  }

  private get ref(): { topic: string; group: string; subscriber: string } {
    return { topic: this.plan.topic, group: this.plan.group, subscriber: this.name };
  }

  private later(delayMs: number): void {
    this.world.after(delayMs, `${this.name} wakes`, () => this.next());
  }

  private next(): void {
    if (this.stopped) return;
    const { prng, profile } = this;
    if (prng.chance(profile.vanish)) {
      this.later(prng.int(3000, 20_000));
      return;
    }
    if (prng.chance(profile.leave)) {
      this.host.send("leave", this.ref, () => this.later(prng.int(500, 8000)));
      return;
    }
    if (prng.chance(0.1)) this.host.send("heartbeat", this.ref, () => {});
    this.takes += 1;
    const takeId = `${this.name}/${this.takes}`;
    const input = {
      ...this.ref,
      takeId,
      maxMessages: prng.pick([1, 2, 5, 10]),
      waitMs: prng.chance(profile.waiting) ? prng.pick([300, 2000, 10_000]) : 0,
      visibilityTimeoutMs: prng.chance(0.2) ? prng.pick([1000, 4000]) : null,
    };
    this.host.send("take", input, (reply) => this.onTake(takeId, reply));
  }

  private onTake(takeId: string, reply: Outcome<TakeReply> | null): void {
    const { prng } = this;
    this.later(prng.pick([0, 100, 500, 1500]));
    if (reply === null && prng.chance(0.7)) {
      // As the edge does when its caller hangs up: a receive that still waits ends.
      const { topic, group } = this.plan;
      this.host.send("giveBack", { topic, group, takeId, receipts: [] }, () => {});
    }
    if (!reply?.ok) return;
    const { deliveries } = reply.value;
    if (deliveries.length === 0) return;
    if (prng.chance(this.profile.giveBack)) {
      const { topic, group } = this.plan;
      const receipts = deliveries.map(({ receipt }) => receipt);
      this.host.send("giveBack", { topic, group, takeId, receipts }, () => {});
      return;
    }
    this.settling.settleInParts(this.name, deliveries);
  }
}
