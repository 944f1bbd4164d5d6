import { describe, expect, test } from "vitest";
import { median, percentile, ratioOfMedians, rounded } from "../../../bench/statistics.ts";

describe("percentile", () => {
  const hundred = Array.from({ length: 100 }, (_, at) => 100 - at);

  test.each([
    [0, 1],
    [0.5, 50],
    [0.99, 99],
    [0.991, 100],
    [1, 100],
  ])("of 1 to 100 at %d is %d", (part, expected) => {
    expect(percentile(hundred, part)).toBe(expected);
  });

  test("of one sample is that sample", () => {
    expect(percentile([7], 0.99)).toBe(7);
  });

  test("leaves the samples in their order", () => {
    const samples = [3, 1, 2];
    percentile(samples, 0.5);
    expect(samples).toEqual([3, 1, 2]);
  });

  test.each([-0.1, 1.1, Number.NaN])("refuses the part %d", (part) => {
    expect(() => percentile([1], part)).toThrow(RangeError);
  });

  test("refuses no samples", () => {
    expect(() => percentile([], 0.5)).toThrow("no samples");
  });
});

describe("median", () => {
  test.each([
    [[5], 5],
    [[10, 9], 9.5],
    [[10, 9, 100], 10],
    [[4, 1, 3, 2], 2.5],
  ])("of %j is %d", (samples, expected) => {
    expect(median(samples)).toBe(expected);
  });

  test("refuses no samples", () => {
    expect(() => median([])).toThrow("no samples");
  });
});

describe("ratioOfMedians", () => {
  test("divides the first by the second", () => {
    expect(ratioOfMedians([30, 10, 20], [8, 10, 1000])).toBe(2);
  });

  test("refuses a base of 0", () => {
    expect(() => ratioOfMedians([1], [0])).toThrow("base");
  });
});

test("rounded keeps the digits that count", () => {
  expect([rounded(123456, 3), rounded(0.0123456, 3), rounded(0, 3)]).toEqual([123000, 0.0123, 0]);
});
