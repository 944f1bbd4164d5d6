import fc from "fast-check";
import { describe, expect, test } from "vitest";
import {
  isPending,
  type PendingRange,
  pendingAfter,
  pendingSpan,
  simplified,
} from "../../src/core/pending.ts";
import { holds } from "./replay.ts";

const ROUTES = [1, 2, 3];
const MAX_OFFSET = 30;

const range: fc.Arbitrary<PendingRange> = fc
  .record({
    after: fc.nat(MAX_OFFSET - 1),
    length: fc.integer({ min: 1, max: MAX_OFFSET }),
    only: fc.uniqueArray(fc.constantFrom(...ROUTES)),
    except: fc.uniqueArray(fc.constantFrom(...ROUTES)),
  })
  .map(({ after, length, only, except }) => ({ after, through: after + length, only, except }));
const ranges = fc.array(range, { maxLength: 5 });
/** Which routes take the message at each offset. */
const takers = fc.array(fc.uniqueArray(fc.constantFrom(...ROUTES)), {
  minLength: 2 * MAX_OFFSET + 1,
  maxLength: 2 * MAX_OFFSET + 1,
});

/** One range after the other, one offset after the other, as the words say it. */
function listed(all: readonly PendingRange[], takersOf: readonly number[][]): number[] {
  const offsets = new Set<number>();
  for (const { after, through, only, except } of all) {
    for (let offset = after + 1; offset <= through; offset += 1) {
      const taking = takersOf[offset] ?? [];
      const meant =
        only.every((route) => taking.includes(route)) && taking.every((route) => !except.includes(route));
      if (meant) offsets.add(offset);
    }
  }
  return [...offsets].sort((a, b) => a - b);
}

function pendingOffsets(all: readonly PendingRange[], takersOf: readonly number[][]): number[] {
  return takersOf.flatMap((taking, offset) =>
    isPending(all, offset, (route) => taking.includes(route)) ? [offset] : [],
  );
}

describe("pending ranges", () => {
  test("hold the offsets that a list of them says", () => {
    holds(
      fc.property(ranges, takers, (all, takersOf) => {
        expect(pendingOffsets(all, takersOf)).toEqual(listed(all, takersOf));
      }),
    );
  });

  test("read through an offset, they hold the same above it and nothing at or below", () => {
    holds(
      fc.property(ranges, takers, fc.nat(2 * MAX_OFFSET), (all, takersOf, through) => {
        const left = pendingAfter(all, through);
        expect(pendingOffsets(left, takersOf)).toEqual(
          listed(all, takersOf).filter((offset) => offset > through),
        );
        expect(left.every((one) => one.after < one.through)).toBe(true);
      }),
    );
  });

  test("simplified, they hold the same, in no more ranges, and each time the same way", () => {
    // Two of the three have one filter: who is taken by one is taken by the other.
    const isSame = (one: number, other: number) => one === other || (one !== 3 && other !== 3);
    holds(
      fc.property(ranges, takers, (all, takersOf) => {
        const closed = takersOf.map((taking) =>
          ROUTES.filter((route) => taking.some((other) => isSame(route, other))),
        );
        const fewer = simplified(all, isSame);
        expect(pendingOffsets(fewer, closed)).toEqual(listed(all, closed));
        expect(fewer.length).toBeLessThanOrEqual(all.length);
        expect(simplified(fewer, isSame)).toEqual(fewer);
      }),
    );
  });

  test("their span is the least that holds them all; read by parts of it, they come to an end", () => {
    holds(
      fc.property(ranges, fc.integer({ min: 1, max: 7 }), (all, part) => {
        const span = pendingSpan(all);
        if (!span) {
          expect(all).toEqual([]);
          return;
        }
        expect(span.after).toBe(Math.min(...all.map(({ after }) => after)));
        expect(span.through).toBe(Math.max(...all.map(({ through }) => through)));
        let left: PendingRange[] = [...all];
        for (let read = 0; left.length > 0; read += 1) {
          expect(read).toBeLessThanOrEqual(2 * MAX_OFFSET);
          left = pendingAfter(left, (pendingSpan(left)?.after ?? 0) + part);
        }
      }),
    );
  });
});
