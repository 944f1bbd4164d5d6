import type { ObjectHost } from "./object-host.ts";
import type { Prng } from "./prng.ts";
import type { GroupPlan, Profile } from "./profile.ts";
import type { World } from "./world.ts";

const TICK_MS = 500;
const MIX = {
  resetOffset: 2,
  deleteMessage: 2,
  purgeMessages: 0.3,
  redrive: 3,
  purgeDeadLetters: 0.2,
  releaseLease: 2,
  pause: 1,
  putTopic: 1,
  deleteGroup: 0.2,
  meet: 1,
  look: 3,
};

/** Admin calls and collection passes in the middle of the load. */
export class Operator {
  private readonly world: World;
  private readonly host: ObjectHost;
  private readonly profile: Profile;
  private readonly prng: Prng;
  private stopped = false;
  private meetings = 0;

  constructor(world: World, host: ObjectHost, profile: Profile, prng: Prng) {
    this.world = world;
    this.host = host;
    this.profile = profile;
    this.prng = prng;
  }

  start(): void {
    if (this.profile.admin === 0 && this.profile.collect === 0) return;
    this.world.after(this.prng.int(0, 2 * TICK_MS), "operator wakes", () => this.tick());
  }

  stop(): void {
    this.stopped = true;
  }

  private tick(): void {
    if (this.stopped) return;
    if (this.prng.chance(this.profile.collect)) this.host.send("collect", {}, () => {});
    if (this.prng.chance(this.profile.admin)) this.act();
    this.start();
  }

  private act(): void {
    const { host, prng } = this;
    const { topic, group } = prng.pick(this.profile.groups);
    const partitionKey = prng.pick(this.profile.partitionKeys);
    const ignore = () => {};
    switch (prng.weighted(MIX)) {
      case "resetOffset":
        host.send("resetOffset", { topic, group, partitionKey, offset: this.someOffset(topic) }, ignore);
        break;
      case "deleteMessage": {
        const rows = this.present(topic);
        if (rows.length === 0) return;
        const { id, partitionKey: key } = prng.pick(rows);
        host.send("deleteMessage", { topic, id, partitionKey: key }, ignore);
        break;
      }
      case "purgeMessages":
        host.send("purgeMessages", { topic }, ignore);
        break;
      case "redrive":
        host.send(
          "redrive",
          { topic, ids: null, group: prng.chance(0.5) ? group : null, limit: prng.pick([null, 1, 10]) },
          ignore,
        );
        break;
      case "purgeDeadLetters":
        host.send("purgeDeadLetters", { topic }, ignore);
        break;
      case "releaseLease":
        host.send("releaseLease", { topic, group, partitionKey }, ignore);
        break;
      case "pause":
        this.pause(prng.pick(this.profile.groups));
        break;
      case "putTopic": {
        const { retentionMs, maxRetentionMs } = this.profile;
        // Dead letters keep their own, longer retention.
        const published = prng.pick(this.profile.topics);
        host.send("putTopic", { topic: published, settings: { retentionMs, maxRetentionMs } }, ignore);
        break;
      }
      case "deleteGroup":
        host.send("deleteGroup", { topic, group, force: prng.chance(0.7) }, ignore);
        break;
      case "meet":
        this.meet(topic);
        break;
      case "look":
        this.lookAround(topic, group);
        break;
    }
  }

  private pause(plan: GroupPlan): void {
    const { topic, group } = plan;
    this.host.send("putGroup", { topic, group, settings: { ...plan.settings, paused: true } }, () => {
      this.world.after(this.prng.int(100, 4000), "resume", () =>
        this.host.send("putGroup", { topic, group, settings: { ...plan.settings, paused: false } }, () => {}),
      );
    });
  }

  /** A receive and a PUT of one new group at the same time: what is answered is what was asked for. */
  private meet(topic: string): void {
    const { host, world } = this;
    this.meetings += 1;
    const group = `meeting-${this.meetings}`;
    const settings = { maxAttempts: 7, visibilityTimeoutMs: 4000 };
    const take = {
      topic,
      group,
      subscriber: "early",
      maxMessages: 1,
      waitMs: 0,
      visibilityTimeoutMs: null,
      takeId: group,
    };
    host.send("take", take, () => {});
    host.send("putGroup", { topic, group, settings }, (reply) => {
      if (!reply?.ok) return;
      const { maxAttempts, visibilityTimeoutMs } = reply.value;
      const answered = JSON.stringify({ maxAttempts, visibilityTimeoutMs });
      if (answered === JSON.stringify(settings)) return;
      host.history.violate(
        "G11",
        `settings ${JSON.stringify(settings)} of ${group} were answered as ${answered}`,
      );
    });
    world.after(2000, "the meeting ends", () => this.remove(topic, group));
  }

  /** Until it is gone: a group that nobody reads would hold collection back. */
  private remove(topic: string, group: string): void {
    this.host.send("deleteGroup", { topic, group, force: true }, (reply) => {
      const gone = reply !== null && (reply.ok || reply.error.code === "not-found");
      if (!gone) this.world.after(500, "remove again", () => this.remove(topic, group));
    });
  }

  /** Calls that change nothing. */
  private lookAround(topic: string, group: string): void {
    const ignore = () => {};
    const answered = (reply: { ok: boolean; error?: { code: string; detail: string } } | null) => {
      if (reply?.error?.code === "internal")
        this.host.history.violate("G11", `looking at ${topic}/${group}: ${reply.error.detail}`);
    };
    this.host.send("overview", { after: null, limit: 20 }, answered);
    this.host.send("subscribers", { topic, group }, answered);
    this.host.send("waitingLanes", { topic, group, limit: 20 }, answered);
    const rows = this.present(topic);
    if (rows.length > 0) {
      const { partitionKey, offset } = this.prng.pick(rows);
      this.host.send("explain", { topic, group, partitionKey, id: null, offset }, answered);
    }
    this.host.send("getTopic", { topic }, ignore);
    this.host.send("lag", { topic, group, after: null, limit: 10 }, ignore);
    this.host.send("leases", { topic, group, staleForMs: null }, ignore);
    this.host.send("deadLetters", { topic, after: 0, limit: 10 }, ignore);
    this.host.send("listMessages", { topic, partitionKey: null, after: 0, limit: 10 }, ignore);
  }

  private present(topic: string) {
    return this.host.history.rows.filter((row) => row.topic === topic && row.vanishedSeq === null);
  }

  /** The beginning, or a message, or just before it. */
  private someOffset(topic: string): number {
    const rows = this.present(topic);
    if (rows.length === 0 || this.prng.chance(0.3)) return 0;
    return this.prng.pick(rows).offset - this.prng.int(0, 1);
  }
}
