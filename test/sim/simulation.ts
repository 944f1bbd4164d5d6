import type { PutGroupInput } from "../../src/protocol/tenant-calls.ts";
import { audit } from "./auditor.ts";
import { FaultMaker } from "./fault-maker.ts";
import type { Violation } from "./history.ts";
import { Finale } from "./finale.ts";
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

/** Runs one seed: load and faults, then quiet and the audit. */
export async function simulate(seed: number): Promise<SimulationResult> {
  const world = new World(seed);
  const profile = profileOf(seed, new Prng(seed));
  const sites = [
    makeSite("acme", world, profile),
    makeSite("quiet", world, { ...quietProfile(new Prng(seed + 1)), durationMs: profile.durationMs }),
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
  return { seed, title: profile.title, violations, traceHash: world.traceHash(), steps: world.steps, lines: world.lines };
}

function makeSite(tenant: string, world: World, profile: Profile): Site {
  const host = new ObjectHost(tenant, world, world.prng.fork(), profile.faults);
  world.hosts.push(host);
  for (const plan of profile.groups) makeGroup(world, host, plan);
  for (let at = 0; at < profile.publishers; at += 1) {
    new Publisher(world, host, profile, world.prng.fork(), `p${at}`).start();
  }
  const subscribers = profile.groups.flatMap((plan) =>
    Array.from({ length: plan.subscribers }, (_, at) => {
      const name = `${plan.topic}.${plan.group}.s${at}`;
      const subscriber = new Subscriber(world, host, profile, plan, world.prng.fork(), name);
      subscriber.start();
      return subscriber;
    }),
  );
  const faultMaker = new FaultMaker(world, host, world.prng.fork());
  faultMaker.start();
  const operator = new Operator(world, host, profile, world.prng.fork());
  operator.start();
  return { host, profile, faultMaker, subscribers, operator };
}

/** Settings stand before the load; until it is answered the group may be one of defaults. */
function makeGroup(world: World, host: ObjectHost, input: PutGroupInput): void {
  host.send("putGroup", { topic: input.topic, group: input.group, settings: input.settings }, (reply) => {
    if (!reply?.ok) world.after(200, "putGroup again", () => makeGroup(world, host, input));
  });
}
