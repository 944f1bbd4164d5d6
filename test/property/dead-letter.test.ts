import fc from "fast-check";
import { expect, test } from "vitest";
import { deadLetterOrigin } from "../../src/core/dead-letter.ts";
import { groupProblem } from "../../src/core/names.ts";
import { holds } from "./replay.ts";

/** Few and alike: whatever could run into what stands beside it does. */
const group = fc.string({ unit: fc.constantFrom(..."a1-"), minLength: 1, maxLength: 2 });
const number = fc.oneof({ weight: 4, arbitrary: fc.constantFrom(0, 1, 11, 111) }, fc.maxSafeNat());
const failure = fc.record({
  group: group.filter((name) => groupProblem(name) === null),
  generation: number,
  resetEpoch: number,
  offset: number,
});

test("two failures have one origin only if they are the same failure", () => {
  holds(
    fc.property(fc.uniqueArray(failure, { maxLength: 12, selector: (one) => JSON.stringify(one) }), (all) => {
      expect(new Set(all.map(deadLetterOrigin)).size).toBe(all.length);
    }),
    500,
  );
});
