import fc from "fast-check";
import { expect, test } from "vitest";
import { deadLetterOrigin } from "../../src/core/dead-letter.ts";
import { groupProblem } from "../../src/core/names.ts";
import { holds } from "./replay.ts";

/** Short and of few characters, digits among them: what could run into the numbers beside it. */
const group = fc.string({ unit: fc.constantFrom(..."a0.-_"), minLength: 1, maxLength: 4 });
const number = fc.oneof(fc.integer({ min: 0, max: 20 }), fc.maxSafeNat());
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
