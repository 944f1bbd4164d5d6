import fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { Run } from "../../src/core/lane.ts";
import { MAX_BODY_BYTES, MAX_RECEIVE_MESSAGES } from "../../src/core/limits.ts";
import { decodeRuns, encodeRuns } from "../../src/durable/tables/partition-leases.ts";
import { holds } from "./replay.ts";

/** Offsets are microseconds: sparse, and near each other within a run. */
const FIRST_OFFSETS = Number.MAX_SAFE_INTEGER - 2 * 10 ** 14;
const gap = fc.oneof(fc.integer({ min: 1, max: 3 }), fc.integer({ min: 1, max: 10 ** 11 }));
const run = fc.record(
  {
    nonce: fc.string({ maxLength: 16 }),
    subscriber: fc.string({ maxLength: 20 }),
    epoch: fc.maxSafeNat(),
    visibleUntilMs: fc.maxSafeNat(),
    deliveredAtMs: fc.maxSafeNat(),
    messages: fc.array(
      fc.record({ gap, bodyBytes: fc.integer({ min: 0, max: MAX_BODY_BYTES }), dueAtMs: fc.maxSafeNat() }),
      {
        minLength: 1,
        maxLength: MAX_RECEIVE_MESSAGES,
      },
    ),
  },
  { requiredKeys: ["nonce", "subscriber", "epoch", "visibleUntilMs", "messages"] },
);
const runs: fc.Arbitrary<Run[]> = fc
  .tuple(fc.integer({ min: 0, max: FIRST_OFFSETS }), fc.array(run, { maxLength: 6 }))
  .map(([first, all]) => {
    let offset = first;
    return all.map(({ messages, ...rest }) => ({
      ...rest,
      messages: messages.map(({ gap: step, bodyBytes, dueAtMs }) => {
        offset += step;
        return { offset, bodyBytes, dueAtMs };
      }),
    }));
  });

describe("encoded runs", () => {
  test("come back as they were, at any offset that is an exact integer", () => {
    holds(
      fc.property(runs, (all) => {
        expect(decodeRuns(encodeRuns(all))).toStrictEqual(all);
      }),
      300,
    );
  });

  test("of a row from before it was kept are out since a time that is not known", () => {
    expect(decodeRuns('[["n","s",3,1000,[17,5,900,2,6,0]]]')).toStrictEqual([
      {
        nonce: "n",
        subscriber: "s",
        epoch: 3,
        visibleUntilMs: 1000,
        messages: [
          { offset: 17, bodyBytes: 5, dueAtMs: 900 },
          { offset: 19, bodyBytes: 6, dueAtMs: 900 },
        ],
      },
    ]);
  });

  test("stay under two kilobytes for a receive's worth of messages published together", () => {
    const messages = Array.from({ length: MAX_RECEIVE_MESSAGES }, (_, at) => ({
      offset: FIRST_OFFSETS + at,
      bodyBytes: MAX_BODY_BYTES,
      dueAtMs: Date.UTC(2100, 0),
    }));
    const subscriber = "s".repeat(128);
    const one = {
      nonce: "0123456789abcdef",
      subscriber,
      epoch: Date.UTC(2100, 0),
      visibleUntilMs: Date.UTC(2100, 0),
      deliveredAtMs: Date.UTC(2100, 0),
      messages,
    };
    expect(encodeRuns([one]).length).toBeLessThan(2048);
  });
});
