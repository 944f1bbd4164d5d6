import { drawLateness } from "./late-profile.ts";
import type { Prng } from "./prng.ts";
import {
  CALM,
  CLOCK,
  CRASHES,
  drawProfile,
  LOG,
  MIXED,
  NETWORK,
  type Profile,
  quietProfile,
  type Shape,
} from "./profile.ts";
import { DEVELOPERS, type DeveloperAct, type SplitPlan } from "./split-plan.ts";

/** Two developers and an application on one topic for minutes of simulated time. */
const MINUTES: Shape = {
  durationMs: 130_000,
  publishers: 2,
  publishes: 45,
  pausesMs: [0, 50, 1000, 2500, 6000],
  chained: 0.5,
  maxGroups: 1,
};
/** As short as other runs, with routes that begin and end all the time. */
const BUSY: Shape = { durationMs: 25_000, publishes: 16, minSubscribers: 1, maxGroups: 2 };

type SplitShape = Shape & {
  developers?: number;
  acts?: Partial<Record<DeveloperAct, number>>;
  ttlsMs?: readonly number[];
};

/** Each leans on one thing that splitting may break; all of them audit all guarantees. */
const SPLIT_SHAPES: Record<string, SplitShape> = {
  "two developers and an application": {
    ...MINUTES,
    behaviours: MIXED,
    leave: 0.03,
    vanish: 0.03,
    giveBack: 0.03,
    faults: { ...CRASHES, crash: 0.05, eviction: 0.02 },
  },
  "routes, calm": { ...BUSY, behaviours: CALM },
  "order in lanes": { ...BUSY, chained: 0.9, oneKey: true, behaviours: { ...MIXED, lapse: 0.3 } },
  "strict lanes through crashes": {
    ...BUSY,
    chained: 0.9,
    strict: 0.9,
    oneKey: true,
    behaviours: MIXED,
    faults: CRASHES,
  },
  "lanes deeper than what is kept of them": {
    ...BUSY,
    publishes: 5,
    batch: 90,
    oneKey: true,
    delayed: 0.02,
    behaviours: { ...CALM, ack: 30, nack: 1, lapse: 1 },
    faults: { crash: 0.05 },
  },
  "lanes that lag when routes begin and end": {
    ...BUSY,
    publishes: 8,
    batch: 60,
    oneKey: true,
    minSubscribers: 1,
    vanish: 0.2,
    delayed: 0.15,
    behaviours: { ...CALM, ack: 20, nack: 2 },
    acts: { take: 6, stop: 3, crash: 2 },
    faults: { eviction: 0.1 },
  },
  "delayed messages": {
    ...BUSY,
    delayed: 0.5,
    behaviours: MIXED,
    waiting: 0.7,
    faults: { crash: 0.1, lostHint: 0.3 },
  },
  "routes that expire": {
    ...BUSY,
    behaviours: { ...MIXED, lapse: 4, late: 4 },
    acts: { crash: 4, abandon: 2 },
    ttlsMs: [1000, 2000],
    faults: { lateTimerMs: 300 },
  },
  "every fault": {
    ...BUSY,
    behaviours: MIXED,
    leave: 0.05,
    vanish: 0.05,
    giveBack: 0.1,
    faults: { ...CRASHES, ...NETWORK, ...LOG, ...CLOCK, storageFailure: 0.05 },
  },
  "collection beside routes": {
    ...BUSY,
    collect: 1,
    retentionMs: 3000,
    maxRetentionMs: 3_600_000,
    behaviours: MIXED,
    acts: { crash: 3 },
    ttlsMs: [10_000],
    faults: CRASHES,
  },
  "admin calls beside routes": {
    ...BUSY,
    admin: 0.5,
    collect: 0.2,
    retentionMs: 5000,
    behaviours: { ...MIXED, reject: 2 },
    leave: 0.05,
    faults: { crash: 0.1 },
  },
};

/** Where the log is outside the object. */
const LATE_SPLIT_SHAPES: Record<string, SplitShape> = {
  "late: two developers and an application": {
    ...MINUTES,
    behaviours: MIXED,
    leave: 0.03,
    faults: { lateCommit: 0.2, insertFailure: 0.02, crash: 0.05, eviction: 0.02, objectLoss: 0.02 },
  },
  "late: messages that appear late": {
    ...BUSY,
    oneKey: true,
    behaviours: { ...MIXED, ack: 20 },
    delayed: 0.1,
    faults: { lateCommit: 0.5, lostHint: 0.5 },
  },
  "late: lanes that lag": {
    ...BUSY,
    publishes: 8,
    batch: 60,
    oneKey: true,
    vanish: 0.2,
    behaviours: { ...CALM, ack: 20, nack: 2 },
    acts: { take: 6, stop: 3, crash: 2 },
    faults: { lateCommit: 0.4, lostHint: 0.3, eviction: 0.1 },
  },
  "late: loss of the object": {
    ...BUSY,
    durationMs: 40_000,
    behaviours: { ...MIXED, ack: 20 },
    collect: 0.2,
    retentionMs: 5000,
    faults: { objectLoss: 0.1, lateCommit: 0.2, lostHint: 0.2 },
  },
  "late: every fault": {
    ...BUSY,
    behaviours: MIXED,
    giveBack: 0.1,
    leave: 0.05,
    faults: { ...CRASHES, ...NETWORK, ...LOG, lateCommit: 0.3, insertFailure: 0.05, storageFailure: 0.05 },
  },
  "late: collection": {
    ...BUSY,
    collect: 1,
    retentionMs: 1000,
    behaviours: { ...MIXED, ack: 40 },
    delayed: 0,
    acts: { crash: 3 },
    ttlsMs: [10_000],
    faults: { ...CRASHES, lateCommit: 0.4, lostHint: 0.3 },
  },
  "late: admin calls": {
    ...BUSY,
    admin: 0.5,
    collect: 0.2,
    retentionMs: 5000,
    behaviours: { ...MIXED, reject: 2 },
    faults: { lateCommit: 0.2, lostHint: 0.2, objectLoss: 0.05 },
  },
};

const USUAL_ACTS: Record<DeveloperAct, number> = {
  take: 14,
  renew: 1,
  refilter: 0.7,
  stop: 1,
  abandon: 0.4,
  crash: 0.6,
  look: 0.5,
};

export const SPLIT_TITLES = Object.keys(SPLIT_SHAPES);
export const LATE_SPLIT_TITLES = Object.keys(LATE_SPLIT_SHAPES);

export function splitProfileOf(seed: number, prng: Prng): Profile {
  return draw(SPLIT_TITLES, SPLIT_SHAPES, seed, prng);
}

export function lateSplitProfileOf(seed: number, prng: Prng): Profile {
  const profile = draw(LATE_SPLIT_TITLES, LATE_SPLIT_SHAPES, seed, prng);
  return { ...profile, lateness: drawLateness(profile.faults, prng) };
}

/** The tenant beside has a route and no faults. */
export function quietSplitProfile(prng: Prng): Profile {
  const split = drawSplit({ acts: { take: 1, refilter: 0, crash: 0, abandon: 0 } }, prng);
  return { ...quietProfile(prng), split: { ...split, developers: 1 } };
}

export function quietLateSplitProfile(prng: Prng): Profile {
  const profile = quietSplitProfile(prng);
  return { ...profile, lateness: drawLateness(profile.faults, prng) };
}

function draw(
  titles: readonly string[],
  shapes: Readonly<Record<string, SplitShape>>,
  seed: number,
  prng: Prng,
): Profile {
  const title = titles[seed % titles.length] as string;
  const shape = shapes[title] as SplitShape;
  return { ...drawProfile(title, shape, prng), split: drawSplit(shape, prng) };
}

function drawSplit({ developers, acts, ttlsMs }: SplitShape, prng: Prng): SplitPlan {
  return {
    developers: developers ?? prng.int(2, DEVELOPERS.length),
    splitGroups: prng.int(1, 2),
    headed: prng.pick([0.4, 0.7]),
    ttlsMs: ttlsMs ?? [1500, 4000, 10_000],
    acts: { ...USUAL_ACTS, ...acts },
  };
}
