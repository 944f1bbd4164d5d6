import type { Prng } from "./prng.ts";
import {
  CALM,
  CLOCK,
  CRASHES,
  drawProfile,
  type Faults,
  type Lateness,
  LOG,
  MIXED,
  NETWORK,
  type Profile,
  quietProfile,
  type Shape,
} from "./profile.ts";

const COMMIT_HORIZON_MS = 5000;
const MAX_SKEW_MS = 5000;
const MAX_STEP_MS = 2000;
/** Between the last moment of a late commit and the horizon: other inserts wait for it, and are killed. */
const SPARE_MS = 1000;
const KILL_MS = 500;

const LATE: Partial<Faults> = { lateCommit: 0.2, insertFailure: 0.03 };
const LOSS: Partial<Faults> = { objectLoss: 0.1 };
/** Long enough for settlements to be saved before the object is lost. */
const LOSS_LOAD: Shape = { durationMs: 20_000, publishes: 12 };

/** So many publishes and receives at once that reads fall between the beginning and the commit of inserts. */
const MEETING: Shape = {
  publishers: 5,
  publishes: 25,
  pausesMs: [0, 1, 5],
  batch: 1,
  chained: 1,
  oneKey: true,
  strict: 0,
  maxInFlight: 100,
  minSubscribers: 4,
  waiting: 0.95,
  behaviours: CALM,
};

/** Each leans on one guarantee where the log is outside the object; all of them audit all guarantees. */
const LATE_SHAPES: Record<string, Shape> = {
  "G1 publishes that fail and commit late": {
    chained: 0.5,
    duplicate: 0.2,
    faults: { ...NETWORK, lateCommit: 0.4, insertFailure: 0.15 },
  },
  "G2 hints are lost": { delayed: 0.1, waiting: 0.7, behaviours: MIXED, faults: { ...LATE, lostHint: 0.6 } },
  "G2 every message through every fault": {
    behaviours: MIXED,
    leave: 0.05,
    vanish: 0.05,
    giveBack: 0.1,
    faults: { ...CRASHES, ...NETWORK, ...LOG, ...CLOCK, ...LATE, storageFailure: 0.05 },
  },
  "G3 order, calm": {
    chained: 0.9,
    delayed: 0.1,
    oneKey: true,
    behaviours: { ...MIXED, lapse: 0.3 },
    faults: LATE,
  },
  "G3 publishers that meet": {
    ...MEETING,
    faults: { lateCommit: 0.1, networkDelayMs: 1, logDelayMs: 2 },
  },
  "G3 publishers that meet a slow log": {
    ...MEETING,
    faults: { lateCommit: 0.4, networkDelayMs: 1, logDelayMs: 50 },
  },
  "G3 strict lanes through crashes": {
    chained: 0.9,
    strict: 0.8,
    oneKey: true,
    behaviours: MIXED,
    leave: 0.05,
    faults: { ...CRASHES, ...LATE },
  },
  "G3 lanes deeper than what is kept of them": {
    batch: 70,
    oneKey: true,
    delayed: 0.02,
    behaviours: { ...CALM, ack: 30, nack: 1, lapse: 1 },
    faults: { ...LATE, crash: 0.05 },
  },
  "G4 owners come and go": {
    minSubscribers: 3,
    leave: 0.15,
    vanish: 0.1,
    behaviours: MIXED,
    waiting: 0.7,
    faults: { ...LATE, eviction: 0.1 },
  },
  "G5 receipts late and twice": {
    behaviours: { ...MIXED, late: 4, twice: 4, extend: 3, lapse: 3 },
    giveBack: 0.2,
    leave: 0.05,
    faults: { ...NETWORK, ...LATE },
  },
  "G8 the same ID again": {
    duplicate: 0.5,
    chained: 0.3,
    retentionMs: 20_000,
    collect: 0.3,
    faults: { ...NETWORK, crash: 0.1, lateCommit: 0.4, insertFailure: 0.1 },
  },
  "G9 the clock of the database steps": {
    delayed: 0.2,
    behaviours: MIXED,
    waiting: 0.6,
    faults: { ...LATE, lostHint: 0.3, databaseStep: 0.3, crash: 0.1 },
  },
  "G10 collection beside late messages": {
    collect: 1,
    // Below the horizon: not age but what may yet appear bounds it.
    retentionMs: 1000,
    behaviours: { ...MIXED, ack: 40 },
    delayed: 0,
    faults: { ...CRASHES, ...LATE, lateCommit: 0.6, lostHint: 0.5, databaseStep: 0.1 },
  },
  "G11 nothing leaks when the log fails": {
    behaviours: MIXED,
    leave: 0.05,
    vanish: 0.05,
    faults: { ...LOG, ...LATE, logFailure: 0.15, logOutage: 0.15, crash: 0.1 },
  },
  "loss of the object, calm": { ...LOSS_LOAD, behaviours: CALM, delayed: 0.1, faults: { ...LOSS } },
  "loss of the object before late messages are seen": {
    ...LOSS_LOAD,
    oneKey: true,
    chained: 0.3,
    behaviours: CALM,
    faults: { objectLoss: 0.2, lateCommit: 0.5, lostHint: 0.9 },
  },
  "loss of the object with strict lanes": {
    ...LOSS_LOAD,
    chained: 0.9,
    strict: 0.9,
    oneKey: true,
    behaviours: MIXED,
    faults: { ...LOSS, ...LATE },
  },
  "loss of the object among late commits and failures": {
    ...LOSS_LOAD,
    behaviours: MIXED,
    delayed: 0.1,
    collect: 0.2,
    retentionMs: 5000,
    leave: 0.05,
    giveBack: 0.1,
    faults: { ...LOSS, ...LATE, ...LOG, lostHint: 0.3, crash: 0.1 },
  },
  "G6 admin calls in the middle": {
    admin: 0.5,
    maxGroups: 3,
    behaviours: { ...MIXED, reject: 2 },
    delayed: 0.1,
    collect: 0.1,
    leave: 0.05,
    faults: { ...LATE, lostHint: 0.2 },
  },
  "loss of the object among admin calls": {
    ...LOSS_LOAD,
    admin: 0.5,
    collect: 0.3,
    retentionMs: 5000,
    behaviours: { ...MIXED, reject: 2 },
    faults: { ...LOSS, ...LATE, ...LOG, crash: 0.1 },
  },
};

export const LATE_TITLES = Object.keys(LATE_SHAPES);

/** The profile of a seed whose log is outside the object. */
export function lateProfileOf(seed: number, prng: Prng): Profile {
  const title = LATE_TITLES[seed % LATE_TITLES.length] as string;
  const profile = drawProfile(title, LATE_SHAPES[title] as Shape, prng);
  return { ...profile, lateness: drawLateness(profile.faults, prng) };
}

/** The tenant beside: no faults, a log that is never late. */
export function quietLateProfile(prng: Prng): Profile {
  const profile = quietProfile(prng);
  return { ...profile, lateness: drawLateness(profile.faults, prng) };
}

export function drawLateness(faults: Faults, prng: Prng): Lateness {
  const maxStepMs = faults.databaseStep > 0 ? MAX_STEP_MS : 0;
  const maxOpenMs = COMMIT_HORIZON_MS - SPARE_MS - maxStepMs;
  return {
    skewMs: prng.int(-MAX_SKEW_MS, MAX_SKEW_MS),
    commitHorizonMs: COMMIT_HORIZON_MS,
    maxOpenMs,
    killAfterMs: maxOpenMs + KILL_MS,
    maxStepMs,
    tellsOffsets: prng.chance(0.8),
  };
}
