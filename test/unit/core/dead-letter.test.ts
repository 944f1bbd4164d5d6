import { expect, test } from "vitest";
import { deadLetterOrigin } from "../../../src/core/dead-letter.ts";

const failure = { group: "billing", generation: 7, resetEpoch: 2, offset: 41 };

test("the same failure has the same origin, and it is not that of a publish", () => {
  expect(deadLetterOrigin({ ...failure })).toBe(deadLetterOrigin(failure));
  expect(deadLetterOrigin(failure)).not.toBe("");
});

test("another group, generation, reset or message is another failure", () => {
  const others = [{ group: "billing2" }, { generation: 8 }, { resetEpoch: 3 }, { offset: 42 }];
  const origins = others.map((other) => deadLetterOrigin({ ...failure, ...other }));
  expect(new Set([deadLetterOrigin(failure), ...origins]).size).toBe(5);
});
