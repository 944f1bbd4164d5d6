import { LATE_TITLES, lateProfileOf, quietLateProfile } from "./late-profile.ts";
import type { Prng } from "./prng.ts";
import { PROFILE_TITLES, type Profile, profileOf, quietProfile } from "./profile.ts";
import {
  LATE_SPLIT_TITLES,
  lateSplitProfileOf,
  quietLateSplitProfile,
  quietSplitProfile,
  SPLIT_TITLES,
  splitProfileOf,
} from "./split-profile.ts";

/**
 * Where messages are kept, in the object or outside where they may appear late, and whether groups are split. Seeds of
 * a suite take turns through its titles.
 */
export interface Suite {
  titles: readonly string[];
  profileOf(seed: number, prng: Prng): Profile;
  /** Of the tenant beside. */
  quietOf(prng: Prng): Profile;
}

export type SuiteName = "embedded" | "late" | "split" | "late-split";

export const SUITES: Readonly<Record<SuiteName, Suite>> = {
  embedded: { titles: PROFILE_TITLES, profileOf, quietOf: quietProfile },
  late: { titles: LATE_TITLES, profileOf: lateProfileOf, quietOf: quietLateProfile },
  split: { titles: SPLIT_TITLES, profileOf: splitProfileOf, quietOf: quietSplitProfile },
  "late-split": {
    titles: LATE_SPLIT_TITLES,
    profileOf: lateSplitProfileOf,
    quietOf: quietLateSplitProfile,
  },
};

export function suiteNamed(name: string): SuiteName {
  if (name in SUITES) return name as SuiteName;
  throw new Error(`there is no suite ${name}, only ${Object.keys(SUITES).join(", ")}`);
}
