import type { DeliveryView, Settlement } from "../../src/protocol/tenant-calls.ts";
import type { ObjectHost } from "./object-host.ts";
import type { Prng } from "./prng.ts";
import type { GroupPlan, Profile } from "./profile.ts";
import type { World } from "./world.ts";

const MAX_SETTLE_TRIES = 4;

/** What consumers of a group do with what they got: everything that the profile has. */
export class Settling {
  private readonly world: World;
  private readonly host: ObjectHost;
  private readonly profile: Profile;
  private readonly plan: GroupPlan;
  private readonly prng: Prng;

  constructor(world: World, host: ObjectHost, profile: Profile, plan: GroupPlan, prng: Prng) {
    this.world = world;
    this.host = host;
    this.profile = profile;
    this.plan = plan;
    this.prng = prng;
  }

  /** Some together, some one by one, some late, some twice. */
  settleInParts(name: string, deliveries: readonly DeliveryView[]): void {
    const { prng } = this;
    const together: Settlement[] = [];
    for (const { receipt } of deliveries) {
      const behaviour = prng.weighted(this.profile.behaviours);
      const soonMs = prng.int(0, 400);
      const lateMs = this.plan.settings.visibilityTimeoutMs + prng.int(-200, 4000);
      switch (behaviour) {
        case "ack":
          if (prng.chance(0.7)) together.push({ receipt, action: "ack" });
          else this.settleLater(name, [{ receipt, action: "ack" }], soonMs);
          break;
        case "nack":
          together.push({
            receipt,
            action: "nack",
            ...(prng.chance(0.6) ? { reason: `no ${prng.int(1, 99)}` } : {}),
          });
          break;
        case "nackLater":
          this.settleLater(
            name,
            [{ receipt, action: "nack", reason: "later", delayMs: prng.int(0, 6000) }],
            soonMs,
          );
          break;
        case "postpone":
          together.push({ receipt, action: "postpone", delayMs: prng.int(0, 6000) });
          break;
        case "reject":
          together.push({ receipt, action: "reject", ...(prng.chance(0.5) ? { reason: "never" } : {}) });
          break;
        case "extend":
          this.settleLater(
            name,
            [{ receipt, action: "extend", visibilityTimeoutMs: prng.pick([1000, 6000]) }],
            soonMs,
          );
          if (prng.chance(0.8))
            this.settleLater(name, [{ receipt, action: "ack" }], soonMs + prng.int(0, 7000));
          break;
        case "lapse":
          break;
        case "late":
          this.settleLater(name, [{ receipt, action: prng.chance(0.6) ? "ack" : "nack" }], lateMs);
          break;
        case "twice":
          this.settleLater(name, [{ receipt, action: prng.pick(["ack", "nack"]) }], soonMs);
          this.settleLater(
            name,
            [{ receipt, action: prng.pick(["ack", "nack"]) }],
            prng.chance(0.5) ? soonMs + 50 : lateMs,
          );
          break;
      }
    }
    if (together.length > 0) this.settleLater(name, together, prng.int(0, 500));
  }

  private settleLater(name: string, settlements: Settlement[], delayMs: number): void {
    this.world.after(delayMs, `${name} settles`, () => this.settle(name, settlements, 1));
  }

  private settle(name: string, settlements: Settlement[], tries: number): void {
    const { topic, group } = this.plan;
    const subscriber = this.prng.chance(0.8) ? name : null;
    this.host.send("settle", { topic, group, subscriber, settlements }, (reply) => {
      if (reply?.ok || tries >= MAX_SETTLE_TRIES || this.prng.chance(0.2)) return;
      this.world.after(this.prng.int(0, 1500), `${name} settles again`, () =>
        this.settle(name, settlements, tries + 1),
      );
    });
  }
}
