import type { Filter } from "../../src/splitting/filter/filter.ts";
import type { Prng } from "./prng.ts";

/** How the groups of a topic are split, and by whom. */
export interface SplitPlan {
  /** Of each group that is split. */
  developers: number;
  /** Of the groups on published topics; one at least. */
  splitGroups: number;
  /** Messages that carry a developer's header. */
  headed: number;
  ttlsMs: readonly number[];
  /** What a developer does next, by weight. */
  acts: Readonly<Record<DeveloperAct, number>>;
}

/**
 *   take      a receive on the route, by one of two subscribers
 *   renew     the PUT again
 *   refilter  a PUT with another filter
 *   stop      the DELETE, and a pause
 *   abandon   its subscribers leave, the route is left to expire
 *   crash     no call for longer than the route lives
 *   look      calls that change nothing
 */
export type DeveloperAct = "take" | "renew" | "refilter" | "stop" | "abandon" | "crash" | "look";

export const DEVELOPERS = ["alice", "bob", "carol"];
/** What the header may say: a developer's name, or a name that begins like one. */
const HEADED = ["alice", "alice", "alfred", "bob", "bob", "bert", "carol", "zoe"];

export function drawHeaders(prng: Prng, headed: number, salt: string): string {
  if (!prng.chance(headed)) return salt;
  const name = prng.pick(HEADED);
  return salt === "" ? `{"x-dev":"${name}"}` : `${salt.slice(0, -1)},"x-dev":"${name}"}`;
}

/** A filter that a developer may put. One in some overlaps those of others, whoever is first. */
export function drawFilter(prng: Prng, developer: string, partitionKeys: readonly string[]): Filter {
  const initial = developer.slice(0, 1);
  const key = prng.pick(partitionKeys);
  switch (prng.weighted({ name: 5, initial: 3, names: 1, ofKey: 2, unnamed: 1, anybody: 0.5 })) {
    case "name":
      return { header: "x-dev", equals: developer };
    case "initial":
      return { header: "x-dev", prefix: initial };
    case "names":
      return {
        any: [
          { header: "x-dev", equals: developer },
          { header: "x-dev", prefix: `${initial}e` },
        ],
      };
    case "ofKey":
      return { all: [{ header: "x-dev", prefix: initial }, { key: { equals: key } }] };
    case "unnamed":
      return { all: [{ not: { header: "x-dev", exists: true } }, { key: { prefix: key.slice(0, 2) } }] };
    case "anybody":
      return { header: "x-dev", exists: true };
  }
}
