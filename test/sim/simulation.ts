import { audit } from "./auditor.ts";
import { FaultMaker } from "./fault-maker.ts";
import { Finale } from "./finale.ts";
import type { Violation } from "./history.ts";
import { lateProfileOf, quietLateProfile } from "./late-profile.ts";
import { ObjectHost } from "./object-host.ts";
import { Operator } from "./operator.ts";
import { Prng } from "./prng.ts";
import { type Profile, profileOf, quietProfile } from "./profile.ts";
import { Publisher } from "./publisher.ts";
import { Subscriber } from "./subscriber.ts";
import { World } from "./world.ts";

export interface SimulationResult {
  seed: number;
  title: string;
  violations: Violation[];
  traceHash: string;
  steps: number;
  /** The end of the trace, for whoever looks for the cause. */
  lines: string[];
}

/** One tenant with its load. */
interface Site {
  host: ObjectHost;
  profile: Profile;
  faultMaker: FaultMaker;
  subscribers: Subscriber[];
  operator: Operator;
}

/** Where messages are kept: in the object, or outside where they may appear late. */
export type LogPlace = "embedded" | "late";

/** Runs one seed: load and faults, then quiet and the audit. */
export async function simulate(seed: number, log: LogPlace = "embedded"): Promise<SimulationResult> {
  const world = new World(seed);
  const [profile, quiet] =
    log === "late"
      ? [lateProfileOf(seed, new Prng(seed)), quietLateProfile(new Prng(seed + 1))]
      : [profileOf(seed, new Prng(seed)), quietProfile(new Prng(seed + 1))];
  const sites = [
    makeSite("acme", world, profile),
    makeSite("quiet", world, { ...quiet, durationMs: profile.durationMs }),
  ];
  let rested = await world.runUntil(world.trueMs + profile.durationMs);
  for (const { host, faultMaker, subscribers, operator } of sites) {
    faultMaker.stop();
    operator.stop();
    for (const subscriber of subscribers) subscriber.stop();
    host.quieten();
  }
  for (const site of sites) rested = rested && (await new Finale(world, site.host, site.profile).run());
  const violations = sites.flatMap(({ host, profile: own }) => {
    if (!rested) host.history.violate("G11", `no rest after ${world.steps} steps`);
    audit(host.history, own);
    host.close();
    return host.history.violations;
  });
  return {
    seed,
    title: profile.title,
    violations,
    traceHash: world.traceHash(),
    steps: world.steps,
    lines: world.lines,
  };
}

function makeSite(tenant: string, world: World, profile: Profile): Site {
  const host = new ObjectHost(tenant, world, world.prng.fork(), profile.faults, profile.lateness);
  world.hosts.push(host);
  const { retentionMs, maxRetentionMs } = profile;
  for (const topic of profile.topics) {
    again(world, "putTopic", (done) =>
      host.send("putTopic", { topic, settings: { retentionMs, maxRetentionMs } }, done),
    );
  }
  for (let at = 0; at < profile.publishers; at += 1) {
    new Publisher(world, host, profile, world.prng.fork(), `p${at}`).start();
  }
  const subscribers = profile.groups.flatMap((plan) => {
    const members = Array.from(
      { length: plan.subscribers },
      (_, at) =>
        new Subscriber(world, host, profile, plan, world.prng.fork(), `${plan.topic}.${plan.group}.s${at}`),
    );
    const { topic, group, settings } = plan;
    const start = () => members.forEach((member) => void member.start());
    // A receive on a name that is not there would make a group of defaults.
    again(world, "putGroup", (done) => host.send("putGroup", { topic, group, settings }, done), start);
    return members;
  });
  const faultMaker = new FaultMaker(world, host, world.prng.fork());
  faultMaker.start();
  const operator = new Operator(world, host, profile, world.prng.fork());
  operator.start();
  return { host, profile, faultMaker, subscribers, operator };
}

/** Sends a call until it is answered well. */
function again(
  world: World,
  name: string,
  send: (done: (reply: { ok: boolean } | null) => void) => void,
  then: () => void = () => {},
): void {
  send((reply) => {
    if (reply?.ok) then();
    else world.after(200, `${name} again`, () => again(world, name, send, then));
  });
}
