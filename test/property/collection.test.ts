import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { type CollectionEntry, type CollectionPlan, planCollection } from "../../src/core/collection.ts";
import { isUnsettled } from "../../src/core/unsettled.ts";
import { type CollectionCase, collectionCase } from "./collection-source.ts";
import { holds } from "./replay.ts";

const RUNS = 2000;

/** Entries of the page that a range of the plan covers. */
function covered(entries: readonly CollectionEntry[], plan: CollectionPlan): CollectionEntry[] {
  return entries.filter(({ offset }) =>
    plan.ranges.some(({ first, last }) => first <= offset && offset <= last),
  );
}

/** G10 in its own words. */
function mayGo(entry: CollectionEntry, { view, unsettled, dying }: CollectionCase): boolean {
  const waiting = [...unsettled.values()].filter((offsets) => offsets.has(entry.offset));
  const settled = unsettled.size > 0 && waiting.length === 0;
  if (settled && entry.publishedAtMs + view.retentionMs <= view.nowMs) return true;
  const expired = entry.dueAtMs + view.maxRetentionMs <= view.nowMs;
  return expired && !(waiting.length > 0 && dying.has(entry.offset));
}

describe("isUnsettled", () => {
  test("says what became of a message wherever it is", () => {
    holds(
      fc.property(collectionCase, ({ entries, view, unsettled }) => {
        for (const group of view.groups) {
          const found = entries.filter((entry) => isUnsettled(group, entry)).map(({ offset }) => offset);
          expect(found).toEqual([...(unsettled.get(group.group) ?? [])].sort((a, b) => a - b));
        }
      }),
      RUNS,
    );
  });
});

describe("planCollection", () => {
  test("G10 collection is safe: no range covers a message that must stay", () => {
    holds(
      fc.property(collectionCase, (one) => {
        const plan = planCollection(one.entries, one.view);
        for (const entry of covered(one.entries, plan))
          expect(mayGo(entry, one), `offset ${entry.offset}`).toBe(true);
      }),
      RUNS,
    );
  });

  test("G10 collection is safe: everything that may go goes, up to where a group has not scanned", () => {
    holds(
      fc.property(collectionCase, (one) => {
        const plan = planCollection(one.entries, one.view);
        const gone = new Set(covered(one.entries, plan));
        const scanned = Math.min(...one.view.groups.map(({ scanOffset }) => scanOffset));
        for (const entry of one.entries) {
          const expired = entry.dueAtMs + one.view.maxRetentionMs <= one.view.nowMs;
          if (!mayGo(entry, one) || (entry.offset > scanned && !expired)) continue;
          expect(gone.has(entry), `offset ${entry.offset}`).toBe(true);
        }
      }),
      RUNS,
    );
  });

  test("ranges begin and end with what goes, grow, do not meet, and are as many as they must be", () => {
    holds(
      fc.property(collectionCase, (one) => {
        const { ranges, deletes } = planCollection(one.entries, one.view);
        const gone = covered(one.entries, planCollection(one.entries, one.view));
        expect(deletes).toBe(gone.length);
        const starts = gone.filter((entry, at) => {
          const before = one.entries[one.entries.indexOf(entry) - 1];
          return at === 0 || before !== gone[at - 1];
        });
        expect(ranges.map(({ first }) => first)).toEqual(starts.map(({ offset }) => offset));
        for (const { first, last } of ranges) {
          expect(gone.some(({ offset }) => offset === first)).toBe(true);
          expect(gone.some(({ offset }) => offset === last)).toBe(true);
        }
      }),
      RUNS,
    );
  });

  test("each group counts exactly what it had not settled of what goes", () => {
    holds(
      fc.property(collectionCase, (one) => {
        const plan = planCollection(one.entries, one.view);
        const counted = plan.expired.map(({ group, entry }) => `${group} ${entry.offset}`).sort();
        const expected = covered(one.entries, plan).flatMap(({ offset }) =>
          [...one.unsettled]
            .filter(([, offsets]) => offsets.has(offset))
            .map(([group]) => `${group} ${offset}`),
        );
        expect(counted).toEqual(expected.sort());
      }),
      RUNS,
    );
  });

  test("is the same page by page: a pass may stop after any entry and go on behind it", () => {
    holds(
      fc.property(collectionCase, fc.integer({ min: 1, max: 5 }), (one, pageEntries) => {
        const whole = planCollection(one.entries, one.view);
        const gone: CollectionEntry[] = [];
        let kept = 0;
        let afterOffset = 0;
        for (;;) {
          const rest = one.entries.filter(({ offset }) => offset > afterOffset);
          const plan = planCollection(rest.slice(0, pageEntries), one.view);
          gone.push(...covered(one.entries, plan));
          kept += plan.kept;
          if (plan.finished || rest.length === 0) break;
          afterOffset = plan.decidedThrough;
        }
        expect(gone).toEqual(covered(one.entries, whole));
        expect(kept).toBe(whole.kept);
      }),
      RUNS,
    );
  });

  test("without groups only age takes a message, and nobody counts it", () => {
    holds(
      fc.property(collectionCase, ({ entries, view }) => {
        const plan = planCollection(entries, { ...view, groups: [] });
        for (const entry of covered(entries, plan)) {
          expect(entry.dueAtMs + view.maxRetentionMs).toBeLessThanOrEqual(view.nowMs);
        }
        expect(plan.expired).toEqual([]);
      }),
      RUNS,
    );
  });
});
