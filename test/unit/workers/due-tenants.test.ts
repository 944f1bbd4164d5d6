import fc from "fast-check";
import { describe, expect, test } from "vitest";
import {
  chooseDueTenants,
  IDLE_RECHECK_MS,
  isIdle,
  type TriedTenant,
} from "../../../src/core/due-tenants.ts";

const INTERVAL_MS = 600_000;
const NOW_MS = 10 * IDLE_RECHECK_MS;

function tried(tenant: string, agoMs: number | null, more: Partial<TriedTenant> = {}): [string, TriedTenant] {
  const triedAtMs = agoMs === null ? null : NOW_MS - agoMs;
  return [tenant, { tenant, triedAtMs, idleActivity: null, announcedActivity: 0, ...more }];
}

const choose = (tenants: string[], known: [string, TriedTenant][], max = 200) =>
  chooseDueTenants(tenants, new Map(known), NOW_MS, INTERVAL_MS, max);

describe("which tenants are due", () => {
  test("all, where nothing is known of them, in the order of the list", () => {
    expect(choose(["c", "a", "b"], [])).toEqual(["c", "a", "b"]);
  });

  test("at the interval, and not a millisecond before", () => {
    expect(choose(["a", "b"], [tried("a", INTERVAL_MS), tried("b", INTERVAL_MS - 1)])).toEqual(["a"]);
  });

  test("one that was only announced, and one tried in the future, which a clock set back makes", () => {
    expect(choose(["a", "b"], [tried("a", null), tried("b", -5)])).toEqual(["a", "b"]);
  });

  test("an idle one is left alone for a day", () => {
    const idle = { idleActivity: 3, announcedActivity: 3 };
    expect(choose(["a"], [tried("a", IDLE_RECHECK_MS - 1, idle)])).toEqual([]);
    expect(choose(["a"], [tried("a", IDLE_RECHECK_MS, idle)])).toEqual(["a"]);
  });

  test("an idle answer loses against a later announcement, whichever came first", () => {
    const stale = { idleActivity: 3, announcedActivity: 4 };
    expect(isIdle(tried("a", 0, stale)[1])).toBe(false);
    expect(choose(["a"], [tried("a", INTERVAL_MS, stale)])).toEqual(["a"]);
    expect(isIdle(tried("a", 0, { idleActivity: 4, announcedActivity: 3 })[1])).toBe(true);
  });

  test("those least recently tried come first, so that hanging ones starve nobody", () => {
    const known = [tried("new", INTERVAL_MS), tried("old", 9 * INTERVAL_MS), tried("mid", 3 * INTERVAL_MS)];
    expect(choose(["new", "unknown", "old", "mid"], known, 3)).toEqual(["unknown", "old", "mid"]);
  });

  test("run after run, whoever is in the list is tried, whatever hangs", () => {
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 40 }), fc.integer({ min: 1, max: 10 }), (count, max) => {
        const tenants = Array.from({ length: count }, (_, i) => `t${i}`);
        const known = new Map<string, TriedTenant>();
        const seen = new Set<string>();
        for (let run = 0; run < Math.ceil(count / max); run++) {
          const nowMs = NOW_MS + run * INTERVAL_MS;
          for (const tenant of chooseDueTenants(tenants, known, nowMs, INTERVAL_MS, max)) {
            seen.add(tenant);
            known.set(tenant, { tenant, triedAtMs: nowMs, idleActivity: null, announcedActivity: 0 });
          }
        }
        expect(seen.size).toBe(count);
      }),
    );
  });
});
