import { audit } from "./auditor.ts";
import { Developer } from "./developer.ts";
import { FaultMaker } from "./fault-maker.ts";
import { Finale } from "./finale.ts";
import type { Violation } from "./history.ts";
import { ObjectHost } from "./object-host.ts";
import { Operator } from "./operator.ts";
import { Prng } from "./prng.ts";
import type { GroupPlan, Profile } from "./profile.ts";
import { Publisher } from "./publisher.ts";
import { DEVELOPERS } from "./split-plan.ts";
import { Subscriber } from "./subscriber.ts";
import { SUITES, type SuiteName } from "./suites.ts";
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
  /** Subscribers of the application, and developers with routes. */
  consumers: (Subscriber | Developer)[];
  operator: Operator;
}

/** Runs one seed: load and faults, then quiet and the audit. */
export async function simulate(seed: number, suite: SuiteName = "embedded"): Promise<SimulationResult> {
  const world = new World(seed);
  const { profileOf, quietOf } = SUITES[suite];
  const profile = profileOf(seed, new Prng(seed));
  const quiet = quietOf(new Prng(seed + 1));
  const sites = [
    makeSite("acme", world, profile),
    makeSite("quiet", world, { ...quiet, durationMs: profile.durationMs }),
  ];
  let rested = await world.runUntil(world.trueMs + profile.durationMs);
  for (const { host, faultMaker, consumers, operator } of sites) {
    faultMaker.stop();
    operator.stop();
    for (const consumer of consumers) consumer.stop();
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
  const consumers = profile.groups.flatMap((plan) => {
    const members: Site["consumers"] = Array.from(
      { length: plan.subscribers },
      (_, at) =>
        new Subscriber(world, host, profile, plan, world.prng.fork(), `${plan.topic}.${plan.group}.s${at}`),
    );
    members.push(...developersOf(world, host, profile, plan));
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
  return { host, profile, faultMaker, consumers, operator };
}

/** Of the first groups of the profile; the others stay as they are without routes. */
function developersOf(world: World, host: ObjectHost, profile: Profile, plan: GroupPlan): Developer[] {
  const { split, groups } = profile;
  if (!split || groups.indexOf(plan) >= split.splitGroups) return [];
  return DEVELOPERS.slice(0, split.developers).map(
    (name) => new Developer(world, host, profile, plan, split, world.prng.fork(), name),
  );
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
