import { DEFAULT_GROUP_SETTINGS, type GroupSettings } from "../../src/core/settings.ts";
import type { Prng } from "./prng.ts";
import type { SplitPlan } from "./split-plan.ts";

export type Behaviour =
  | "ack"
  | "nack"
  | "nackLater"
  | "postpone"
  | "reject"
  | "extend"
  | "lapse"
  | "late"
  | "twice";

/** How likely each fault is. Those of the world by second, those of a call by call, those of the log by method. */
export interface Faults {
  crash: number;
  eviction: number;
  storageFailure: number;
  clockJump: number;
  maxJumpMs: number;
  logOutage: number;
  oddAlarm: number;
  lostHint: number;
  duplicateCall: number;
  lostRequest: number;
  lostReply: number;
  logFailure: number;
  /** Longest wait before and after a method of the log; 0: none. */
  logDelayMs: number;
  /** Longest way of a call, and of its reply. */
  networkDelayMs: number;
  /** How late a timer or alarm may be. */
  lateTimerMs: number;
  /** Of a log outside the object. By insert: it stays open long; it is rolled back. By second: the rest. */
  lateCommit: number;
  insertFailure: number;
  databaseStep: number;
  /** The object goes with its storage. */
  objectLoss: number;
}

/** A log outside the object. */
export interface Lateness {
  /** By which the database's clock is ahead of true time at first. */
  skewMs: number;
  commitHorizonMs: number;
  /** A late insert is open so long at most; one that is open longer than the other is rolled back. */
  maxOpenMs: number;
  killAfterMs: number;
  /** The database's clock steps so far at most. With the time that an insert is open it stays below the horizon. */
  maxStepMs: number;
  tellsOffsets: boolean;
}

export interface GroupPlan {
  /** A dead-letter topic as well: nobody publishes to it. */
  topic: string;
  group: string;
  settings: GroupSettings;
  subscribers: number;
}

export interface Profile {
  title: string;
  /** null: the object holds the log. */
  lateness: Lateness | null;
  /** null: no group has routes. */
  split: SplitPlan | null;
  topics: string[];
  partitionKeys: string[];
  groups: GroupPlan[];
  publishers: number;
  /** Publishes of each publisher. */
  publishes: number;
  /** Between two publishes of a publisher. */
  pausesMs: readonly number[];
  /** Most messages of one publish. */
  batch: number;
  /** A publisher waits for the answer before it goes on. */
  chained: number;
  delayed: number;
  duplicate: number;
  /** Published into the log, past the object. */
  direct: number;
  behaviours: Record<Behaviour, number>;
  leave: number;
  vanish: number;
  giveBack: number;
  waiting: number;
  /** Admin calls, by second. */
  admin: number;
  /** Collection passes, by second. */
  collect: number;
  retentionMs: number;
  maxRetentionMs: number;
  /** At the end the fair share is tried. */
  sharesOut: boolean;
  /** The load lasts so long, true time. */
  durationMs: number;
  faults: Faults;
}

export const NO_FAULTS: Faults = {
  crash: 0,
  eviction: 0,
  storageFailure: 0,
  clockJump: 0,
  maxJumpMs: 0,
  logOutage: 0,
  oddAlarm: 0,
  lostHint: 0,
  duplicateCall: 0,
  lostRequest: 0,
  lostReply: 0,
  logFailure: 0,
  logDelayMs: 5,
  networkDelayMs: 20,
  lateTimerMs: 0,
  lateCommit: 0,
  insertFailure: 0,
  databaseStep: 0,
  objectLoss: 0,
};

export const CRASHES: Partial<Faults> = {
  crash: 0.3,
  eviction: 0.1,
  oddAlarm: 0.1,
  lostHint: 0.1,
  lateTimerMs: 300,
};
export const NETWORK: Partial<Faults> = {
  duplicateCall: 0.1,
  lostRequest: 0.05,
  lostReply: 0.08,
  networkDelayMs: 1500,
  lostHint: 0.2,
};
export const LOG: Partial<Faults> = { logFailure: 0.05, logOutage: 0.05, logDelayMs: 200 };
export const CLOCK: Partial<Faults> = { clockJump: 0.1, maxJumpMs: 3_600_000 };

export const CALM: Record<Behaviour, number> = {
  ack: 10,
  nack: 0,
  nackLater: 0,
  postpone: 0,
  reject: 0,
  extend: 0,
  lapse: 0,
  late: 0,
  twice: 0,
};
export const MIXED: Record<Behaviour, number> = {
  ack: 8,
  nack: 2,
  nackLater: 1,
  postpone: 1,
  reject: 0.5,
  extend: 1,
  lapse: 1,
  late: 1,
  twice: 1,
};

const PAUSES_MS = [0, 5, 50, 500, 2500];

const ODD_KEYS = [
  "__proto__",
  "%",
  "*",
  "a b",
  "🚀🚀",
  "ключ",
  "order-1",
  "~3",
  "constructor",
  "'; --",
  "x".repeat(255),
];

export type Shape = Partial<
  Omit<Profile, "title" | "lateness" | "split" | "topics" | "partitionKeys" | "groups" | "faults">
> & {
  faults?: Partial<Faults>;
  strict?: number;
  oneKey?: boolean;
  oddKeys?: boolean;
  maxGroups?: number;
  maxInFlight?: number;
  minSubscribers?: number;
};

/** Each profile leans on one guarantee; all of them audit all guarantees. */
const SHAPES: Record<string, Shape> = {
  "G1 publishes meet crashes": {
    direct: 0.3,
    chained: 0.5,
    duplicate: 0.2,
    faults: { ...CRASHES, ...NETWORK, storageFailure: 0.05 },
  },
  "G2 every message through every fault": {
    behaviours: MIXED,
    leave: 0.05,
    vanish: 0.05,
    giveBack: 0.1,
    faults: { ...CRASHES, ...NETWORK, ...LOG, ...CLOCK, storageFailure: 0.05 },
  },
  "G3 order, calm": { chained: 0.9, delayed: 0.1, oneKey: true, behaviours: { ...MIXED, lapse: 0.3 } },
  "G3 order and strict lanes through crashes": {
    chained: 0.9,
    strict: 0.8,
    oneKey: true,
    behaviours: MIXED,
    leave: 0.05,
    faults: CRASHES,
  },
  "G3 lanes deeper than what is kept of them": {
    batch: 70,
    oneKey: true,
    direct: 0.5,
    delayed: 0.02,
    behaviours: { ...CALM, ack: 30, nack: 1, lapse: 1 },
    faults: { crash: 0.05 },
  },
  "G4 owners come and go": {
    minSubscribers: 3,
    leave: 0.15,
    vanish: 0.1,
    behaviours: MIXED,
    waiting: 0.7,
    faults: { eviction: 0.1 },
  },
  "G5 receipts late and twice": {
    behaviours: { ...MIXED, late: 4, twice: 4, extend: 3, lapse: 3 },
    giveBack: 0.2,
    leave: 0.05,
    faults: { ...NETWORK },
  },
  "G6 groups beside each other": {
    maxGroups: 3,
    behaviours: { ...MIXED, reject: 2, nack: 4 },
    faults: { crash: 0.1 },
  },
  "G7 a failing tenant beside a quiet one": {
    behaviours: MIXED,
    faults: { ...CRASHES, ...LOG, storageFailure: 0.2 },
  },
  "G8 the same ID again": {
    duplicate: 0.5,
    chained: 0.3,
    retentionMs: 20_000,
    collect: 0.3,
    faults: { ...NETWORK, crash: 0.1 },
  },
  "G9 delayed messages and lost hints": {
    delayed: 0.5,
    direct: 0.5,
    behaviours: MIXED,
    waiting: 0.8,
    faults: { ...LOG, logDelayMs: 50, lostHint: 0.7, crash: 0.1 },
  },
  "G10 collection": {
    collect: 1,
    retentionMs: 5_000,
    maxRetentionMs: 3_600_000,
    behaviours: MIXED,
    faults: { ...CRASHES, ...CLOCK, maxJumpMs: 600_000 },
  },
  "G11 nothing leaks when the log fails": {
    behaviours: MIXED,
    leave: 0.05,
    vanish: 0.05,
    faults: { ...LOG, logFailure: 0.15, logOutage: 0.15, crash: 0.1 },
  },
  "G11 clocks jump": {
    behaviours: MIXED,
    delayed: 0.2,
    waiting: 0.6,
    faults: { ...CLOCK, clockJump: 0.4, oddAlarm: 0.2, lateTimerMs: 2000 },
  },
  "G12 odd bytes": { oddKeys: true, behaviours: { ...CALM, reject: 1 }, faults: { networkDelayMs: 100 } },
};

const ADMIN_SHAPES: Record<string, Shape> = {
  "G6 admin calls in the middle": {
    admin: 0.5,
    maxGroups: 3,
    behaviours: MIXED,
    delayed: 0.1,
    collect: 0.1,
    leave: 0.05,
  },
  "G10 admin calls, crashes and collection": {
    admin: 0.5,
    collect: 0.5,
    retentionMs: 5_000,
    behaviours: { ...MIXED, reject: 2 },
    faults: { ...CRASHES, ...LOG, ...NETWORK },
  },
};

const ALL_SHAPES = { ...SHAPES, ...ADMIN_SHAPES };

export const PROFILE_TITLES = Object.keys(ALL_SHAPES);

/** The profile of a seed: seeds take turns through the titles, the rest of it is drawn. */
export function profileOf(seed: number, prng: Prng): Profile {
  const title = PROFILE_TITLES[seed % PROFILE_TITLES.length] as string;
  return drawProfile(title, ALL_SHAPES[title] as Shape, prng);
}

export function drawProfile(title: string, shape: Shape, prng: Prng): Profile {
  const topics = ["orders", "bills", "_3"]
    .slice(0, prng.int(1, shape.oneKey ? 1 : 2))
    .map((t) => t.replace("_", "t"));
  const keys = shape.oddKeys ? ODD_KEYS : Array.from({ length: 12 }, (_, at) => `k${at}`);
  const count = shape.oneKey ? prng.int(1, 3) : prng.int(1, keys.length);
  const groups = topics.flatMap((topic) =>
    Array.from({ length: prng.int(1, shape.maxGroups ?? 2) }, (_, at) =>
      drawGroup(topic, `g${at}`, shape, prng),
    ),
  );
  const behaviours = shape.behaviours ?? CALM;
  if (behaviours.reject > 0 && prng.chance(0.4))
    groups.push(drawGroup(`${topics[0]}_dlq`, "menders", shape, prng));
  return {
    title,
    lateness: null,
    split: null,
    topics,
    partitionKeys: keys.slice(0, count),
    groups,
    publishers: shape.publishers ?? prng.int(1, 3),
    publishes: shape.publishes ?? prng.int(4, 10),
    pausesMs: shape.pausesMs ?? PAUSES_MS,
    batch: shape.batch ?? 5,
    chained: shape.chained ?? 0.5,
    delayed: shape.delayed ?? 0.05,
    duplicate: shape.duplicate ?? 0.05,
    direct: shape.direct ?? 0.05,
    behaviours,
    leave: shape.leave ?? 0,
    vanish: shape.vanish ?? 0,
    giveBack: shape.giveBack ?? 0,
    waiting: shape.waiting ?? 0.4,
    admin: shape.admin ?? 0,
    collect: shape.collect ?? 0,
    retentionMs: shape.retentionMs ?? 3_600_000,
    maxRetentionMs: shape.maxRetentionMs ?? 7 * 24 * 3_600_000,
    sharesOut: (shape.admin ?? 0) === 0 && prng.chance(0.4),
    durationMs: shape.durationMs ?? prng.int(7_000, 14_000),
    faults: { ...NO_FAULTS, ...shape.faults },
  };
}

function drawGroup(topic: string, group: string, shape: Shape, prng: Prng): GroupPlan {
  const strict = prng.chance(shape.strict ?? 0.25);
  const settings: GroupSettings = {
    ...DEFAULT_GROUP_SETTINGS,
    visibilityTimeoutMs: prng.pick([1000, 2000, 5000]),
    leaseDurationMs: prng.pick([1000, 3000, 8000]),
    maxInFlightPerPartition: strict ? 1 : (shape.maxInFlight ?? prng.int(2, 6)),
    maxAttempts: prng.int(1, 5),
    retry: { initialBackoffMs: prng.pick([0, 100, 1000]), multiplier: prng.pick([1, 2]), maxBackoffMs: 3000 },
    deadLetters: prng.chance(0.8),
    startFrom: prng.chance(0.15) ? "latest" : "earliest",
  };
  return { topic, group, settings, subscribers: prng.int(shape.minSubscribers ?? 1, 4) };
}

/** The tenant beside: its own load, no faults at all. */
export function quietProfile(prng: Prng): Profile {
  const shape: Shape = { strict: 0.3 };
  return {
    ...profileOf(0, prng),
    title: "quiet",
    topics: ["orders"],
    partitionKeys: ["k0", "k1"],
    groups: [{ ...drawGroup("orders", "g0", shape, prng), subscribers: 1 }],
    publishers: 1,
    publishes: 5,
    behaviours: CALM,
    direct: 0,
    faults: NO_FAULTS,
  };
}
