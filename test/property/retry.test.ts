import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { MAX_ATTEMPTS, MAX_DURATION_MS } from "../../src/core/limits.ts";
import { backoffMs } from "../../src/core/retry.ts";
import { holds } from "./replay.ts";

const durationMs = fc.oneof(
  fc.constantFrom(0, 1, MAX_DURATION_MS),
  fc.integer({ min: 0, max: MAX_DURATION_MS }),
);
const settings = fc.record({
  initialBackoffMs: durationMs,
  multiplier: fc.oneof(
    fc.constantFrom(1, 1.1, 2, 10, 1000),
    fc.double({ min: 1, max: 1000, noNaN: true }),
    fc.double({ min: 1, noNaN: true, noDefaultInfinity: true }),
  ),
  maxBackoffMs: durationMs,
});
/** Subscribers of a dead-letter topic have no limit of attempts. */
const attempt = fc.oneof(
  fc.integer({ min: 1, max: MAX_ATTEMPTS }),
  fc.integer({ min: 1, max: 10 * MAX_ATTEMPTS }),
);

describe("backoffMs", () => {
  test("is a whole number from 0 to maxBackoffMs for all settings and attempts", () => {
    holds(
      fc.property(settings, attempt, (retry, failed) => {
        const waitMs = backoffMs(retry, failed);
        expect(Number.isSafeInteger(waitMs)).toBe(true);
        expect(waitMs).toBeGreaterThanOrEqual(0);
        expect(waitMs).toBeLessThanOrEqual(retry.maxBackoffMs);
      }),
      1000,
    );
  });

  test("never shrinks from one attempt to the next", () => {
    holds(
      fc.property(settings, attempt, fc.integer({ min: 1, max: 5 }), (retry, failed, further) => {
        expect(backoffMs(retry, failed + further)).toBeGreaterThanOrEqual(backoffMs(retry, failed));
      }),
      1000,
    );
  });

  test("starts at initialBackoffMs and grows by the multiplier until maxBackoffMs", () => {
    const small = fc.record({
      initialBackoffMs: fc.integer({ min: 0, max: 5000 }),
      multiplier: fc.integer({ min: 1, max: 9 }),
      maxBackoffMs: fc.integer({ min: 0, max: 10_000_000 }),
    });
    holds(
      fc.property(small, fc.integer({ min: 1, max: 12 }), (retry, failed) => {
        let expected = retry.initialBackoffMs;
        for (let grown = 1; grown < failed; grown += 1) expected *= retry.multiplier;
        expect(backoffMs(retry, failed)).toBe(Math.min(expected, retry.maxBackoffMs));
      }),
    );
  });

  test("an initial backoff of 0 stays 0, even where the multiplier's power is beyond all numbers", () => {
    expect(backoffMs({ initialBackoffMs: 0, multiplier: 10, maxBackoffMs: 30_000 }, 400)).toBe(0);
  });
});
