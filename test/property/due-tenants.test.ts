import fc from "fast-check";
import { expect, test } from "vitest";
import { chooseDueTenants, isIdle, type TriedTenant } from "../../src/core/due-tenants.ts";
import { holds } from "./replay.ts";

const NOW_MS = 1_000_000_000;
const INTERVAL_MS = 600_000;
const ago = fc.oneof(
  fc.constantFrom(-1, 0, 1, INTERVAL_MS - 1, INTERVAL_MS),
  fc.integer({ min: -1000, max: 200_000_000 }),
);
const known = fc.record({
  triedAtMs: fc.option(ago.map((ms) => NOW_MS - ms)),
  idleActivity: fc.option(fc.nat(3)),
  announcedActivity: fc.nat(3),
});
const situation = fc
  .array(fc.option(known, { freq: 4 }), { maxLength: 12 })
  .map((all) => all.map((one, at) => ({ tenant: `t${at}`, tried: one && { tenant: `t${at}`, ...one } })));

function mapOf(all: readonly { tenant: string; tried: TriedTenant | null }[]): Map<string, TriedTenant> {
  return new Map(all.flatMap(({ tenant, tried }) => (tried ? [[tenant, tried] as const] : [])));
}

test("who is chosen is of the list, at most so many, once, and those least recently tried first", () => {
  holds(
    fc.property(situation, fc.integer({ min: 0, max: 14 }), (all, max) => {
      const tenants = all.map(({ tenant }) => tenant);
      const everyone = chooseDueTenants(tenants, mapOf(all), NOW_MS, INTERVAL_MS, all.length);
      const chosen = chooseDueTenants(tenants, mapOf(all), NOW_MS, INTERVAL_MS, max);
      expect(chosen).toEqual(everyone.slice(0, max));
      expect(new Set(everyone).size).toBe(everyone.length);
      expect(tenants).toEqual(expect.arrayContaining(everyone));
      const tried = everyone.map((tenant) => {
        const at = mapOf(all).get(tenant)?.triedAtMs ?? Number.NEGATIVE_INFINITY;
        return at > NOW_MS ? Number.NEGATIVE_INFINITY : at;
      });
      for (let at = 1; at < tried.length; at += 1)
        expect(tried[at]).toBeGreaterThanOrEqual(tried[at - 1] as number);
    }),
    500,
  );
});

test("whoever was not tried for an interval is due, unless it is idle; nobody else but after a clock set back", () => {
  holds(
    fc.property(situation, (all) => {
      const tenants = all.map(({ tenant }) => tenant);
      const due = new Set(chooseDueTenants(tenants, mapOf(all), NOW_MS, INTERVAL_MS, all.length));
      for (const { tenant, tried } of all) {
        if (!tried || tried.triedAtMs === null || tried.triedAtMs > NOW_MS)
          expect(due.has(tenant)).toBe(true);
        else if (NOW_MS - tried.triedAtMs < INTERVAL_MS) expect(due.has(tenant)).toBe(false);
        else if (!isIdle(tried)) expect(due.has(tenant)).toBe(true);
      }
    }),
    500,
  );
});

test("in rounds, every tenant that is due has its turn", () => {
  holds(
    fc.property(situation, fc.integer({ min: 1, max: 4 }), (all, max) => {
      const tenants = all.map(({ tenant }) => tenant);
      const state = mapOf(all);
      const due = chooseDueTenants(tenants, state, NOW_MS, INTERVAL_MS, all.length);
      const served = new Set<string>();
      for (let round = 0; round * max < all.length; round += 1) {
        for (const tenant of chooseDueTenants(tenants, state, NOW_MS, INTERVAL_MS, max)) {
          served.add(tenant);
          const before = state.get(tenant) ?? {
            tenant,
            idleActivity: null,
            announcedActivity: 0,
            triedAtMs: null,
          };
          state.set(tenant, { ...before, triedAtMs: NOW_MS });
        }
      }
      for (const tenant of due) expect(served.has(tenant)).toBe(true);
    }),
  );
});
