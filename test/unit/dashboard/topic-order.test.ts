import fc from "fast-check";
import { expect, test } from "vitest";
import { justBefore } from "../../../src/dashboard/topic-order.ts";
import { topicName } from "../../../src/protocol/fields.ts";

/** Few characters, those at the seams of the order, so that names are often neighbours. */
const name = fc
  .tuple(
    fc.constantFrom("0", "9", "a", "z"),
    fc.string({ unit: fc.constantFrom("-", ".", "0", "9", "_", "a", "z"), maxLength: 3 }),
  )
  .map((parts) => parts.join(""));

test("a page behind it begins with the first name of that beginning, and misses none", () => {
  fc.assert(
    fc.property(name, fc.array(name, { maxLength: 30 }), (start, others) => {
      const after = justBefore(start);
      const names = [...new Set([...others, start])].sort();
      expect(names.filter((each) => after === null || each > (after as string))[0]).toBe(
        names.filter((each) => each >= start)[0],
      );
      if (after !== null) expect(topicName.safeParse(after).success, String(after)).toBe(true);
    }),
    { numRuns: 2000 },
  );
});

test.each([
  ["0", null],
  ["a", `9${"z".repeat(123)}`],
  ["a-", "a"],
  ["orders", `orderr${"z".repeat(118)}`],
  ["", undefined],
  ["Orders", undefined],
  ["-a", undefined],
  ["a".repeat(125), undefined],
])("%j: %j", (start, before) => {
  expect(justBefore(start)).toBe(before);
});
