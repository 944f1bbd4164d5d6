import { expect, test } from "vitest";
import { DEFAULT_LIMITS, withDefaults } from "../../../src/gateway/limits.ts";

test("limits are PlanetScale's unless others are given", () => {
  expect(withDefaults({})).toMatchObject({
    statementMs: 30_000,
    transactionMs: 20_000,
    maxResultRows: 100_000,
    maxResultBytes: 67_108_864,
  });
  expect(withDefaults({ statementMs: 5 }).statementMs).toBe(5);
});

test("a batch of bodies fits into a request, in hex and with JSON around it", () => {
  const MAX_BATCH_BYTES = 4 * 1024 * 1024;
  expect(DEFAULT_LIMITS.maxBodyBytes).toBeGreaterThan(3 * MAX_BATCH_BYTES);
});

test.each([0, -1, 1.5, Number.NaN, Number.POSITIVE_INFINITY])("a limit of %d is refused", (value) => {
  expect(() => withDefaults({ statementMs: value })).toThrow(RangeError);
});
