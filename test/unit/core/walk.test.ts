import { describe, expect, test } from "vitest";
import { MAX_LANE_EXCEPTIONS } from "../../../src/core/dispatch-limits.ts";
import { type Exception, Lane } from "../../../src/core/lane.ts";
import { type WalkRules, walk } from "../../../src/core/walk.ts";

/** The rules of delivery one by one, as a reader would check them. All instants are relative to NOW_MS. */
const NOW_MS = 10_000;
const RULES: WalkRules = {
  maxInFlight: 10,
  maxAttempts: 3,
  maxRetentionMs: 5000,
  freshAllowed: true,
  nowMs: NOW_MS,
  logAheadMs: 0,
};
const STRICT: WalkRules = { ...RULES, maxInFlight: 1 };

interface Setup {
  exceptions?: (Partial<Exception> & Pick<Exception, "offset" | "state">)[];
  /** First deliveries, visible until NOW_MS + this. */
  run?: { offsets: number[]; forMs: number };
  window?: number[];
  behind?: boolean;
}

function setup({ exceptions = [], run, window = [], behind = false }: Setup): Lane {
  const last = [...(run?.offsets ?? []), ...exceptions.map(({ offset }) => offset)];
  const lane = new Lane("p", Math.max(0, ...last));
  if (run) {
    const messages = run.offsets.map((offset) => ({ offset, bodyBytes: 1, dueAtMs: NOW_MS }));
    lane.runs.push({ nonce: "r", subscriber: "ann", epoch: 1, visibleUntilMs: NOW_MS + run.forMs, messages });
  }
  for (const one of exceptions) {
    lane.except({
      bodyBytes: 1,
      dueAtMs: NOW_MS,
      attempt: 1,
      atMs: NOW_MS,
      nonce: "",
      subscriber: "",
      epoch: 0,
      reason: "",
      ...one,
    });
  }
  const entries = window.map((offset) => ({ offset, bodyBytes: 1, dueAtMs: NOW_MS, delayed: false }));
  lane.extendWindow(entries, 100);
  lane.behind = behind;
  return lane;
}

function granted(lane: Lane, rules: WalkRules, max = 100): [offset: number, attempt: number][] {
  return walk(lane, rules, max).grants.map(({ offset, attempt }) => [offset, attempt]);
}

describe("a lane that is not strict", () => {
  test("goes past what is in flight, backing off and dying", () => {
    const lane = setup({
      exceptions: [
        { offset: 1, state: "inFlight", atMs: NOW_MS + 1 },
        { offset: 2, state: "backingOff", atMs: NOW_MS + 1 },
        { offset: 3, state: "dying" },
      ],
      window: [4],
    });
    expect(granted(lane, RULES)).toEqual([[4, 1]]);
  });

  test("delivers again from the very instant that a visibility or a backoff ends", () => {
    const lane = setup({
      exceptions: [
        { offset: 1, state: "inFlight", attempt: 1, atMs: NOW_MS },
        { offset: 2, state: "backingOff", attempt: 2, atMs: NOW_MS },
      ],
    });
    expect(granted(lane, RULES)).toEqual([
      [1, 2],
      [2, 3],
    ]);
  });

  test("says until when it waits", () => {
    const lane = setup({
      exceptions: [
        { offset: 1, state: "backingOff", atMs: NOW_MS + 700 },
        { offset: 2, state: "inFlight", atMs: NOW_MS + 300 },
      ],
    });
    expect(walk(lane, RULES, 10)).toMatchObject({ grants: [], stop: "end", nextChangeAtMs: NOW_MS + 300 });
  });

  test("counts a lapse of the last attempt as spent and does not deliver it", () => {
    const lane = setup({
      exceptions: [{ offset: 1, state: "inFlight", attempt: 3, atMs: NOW_MS }],
      window: [2],
    });
    expect(walk(lane, RULES, 10).spent).toEqual([1]);
    expect(granted(lane, RULES)).toEqual([[2, 1]]);
    expect(granted(lane, { ...RULES, maxAttempts: null })).toEqual([
      [1, 4],
      [2, 1],
    ]);
  });

  test("stops at a postponed message until it is due, which then is attempt 1 and comes first", () => {
    const exceptions: Setup["exceptions"] = [
      { offset: 1, state: "backingOff" },
      { offset: 2, state: "postponed", attempt: 0, atMs: NOW_MS + 1 },
      { offset: 3, state: "backingOff" },
    ];
    const lane = setup({ exceptions, window: [4] });
    expect(granted(lane, RULES)).toEqual([[1, 2]]);
    expect(walk(lane, RULES, 10)).toMatchObject({
      stop: "barrier",
      stopOffset: 2,
      nextChangeAtMs: NOW_MS + 1,
    });
    expect(granted(lane, { ...RULES, nowMs: NOW_MS + 1 })).toEqual([
      [1, 2],
      [2, 1],
      [3, 2],
      [4, 1],
    ]);
  });

  test("delivers what was given back before all else, with the same attempt", () => {
    const lane = setup({
      exceptions: [
        { offset: 1, state: "backingOff" },
        { offset: 2, state: "returned", attempt: 1, atMs: 0 },
      ],
      window: [3],
    });
    expect(granted(lane, RULES)).toEqual([
      [2, 2],
      [1, 2],
      [3, 1],
    ]);
  });

  test("fills up to its limit in flight; lapsed deliveries leave room", () => {
    const lane = setup({ run: { offsets: [1, 2], forMs: 1 }, window: [3, 4, 5] });
    expect(granted(lane, { ...RULES, maxInFlight: 3 })).toEqual([[3, 1]]);
    expect(walk(lane, { ...RULES, maxInFlight: 3 }, 10)).toMatchObject({ stop: "full" });
    expect(granted(lane, { ...RULES, maxInFlight: 3, nowMs: NOW_MS + 1 })).toEqual([
      [1, 2],
      [2, 2],
      [3, 1],
    ]);
  });

  test("more in flight than a limit lowered since delivers nothing", () => {
    const lane = setup({ run: { offsets: [1, 2, 3], forMs: 1 }, window: [4] });
    expect(granted(lane, { ...RULES, maxInFlight: 2 })).toEqual([]);
  });
});

describe("a strict lane", () => {
  test.each<[string, Partial<Exception> & Pick<Exception, "state">]>([
    ["in flight", { state: "inFlight", atMs: NOW_MS + 1 }],
    ["backing off", { state: "backingOff", atMs: NOW_MS + 1 }],
    ["dying", { state: "dying" }],
    ["postponed", { state: "postponed", attempt: 0, atMs: NOW_MS + 1 }],
    ["out of attempts, not decided yet", { state: "inFlight", attempt: 3, atMs: NOW_MS }],
  ])("waits for a message that is %s", (_what, exception) => {
    const lane = setup({ exceptions: [{ offset: 1, ...exception }], window: [2] });
    expect(granted(lane, STRICT)).toEqual([]);
  });

  test("delivers one message, and a failed one before the next", () => {
    expect(granted(setup({ window: [1, 2] }), STRICT)).toEqual([[1, 1]]);
    const failed = setup({ exceptions: [{ offset: 1, state: "backingOff" }], window: [2] });
    expect(granted(failed, STRICT)).toEqual([[1, 2]]);
  });

  test("does not wait for what is delayed", () => {
    const lane = setup({
      exceptions: [{ offset: 1, state: "arrived", attempt: 0, atMs: NOW_MS + 1 }],
      window: [2],
    });
    expect(granted(lane, STRICT)).toEqual([[2, 1]]);
  });
});

describe("the window", () => {
  test("what is too old is passed over and named, from the very instant", () => {
    const lane = setup({ window: [1, 2] });
    (lane.window[0] as { dueAtMs: number }).dueAtMs = NOW_MS - 5000;
    expect(walk(lane, RULES, 10)).toMatchObject({ expired: [1], grants: [{ offset: 2 }] });
    expect(walk(lane, { ...RULES, nowMs: NOW_MS - 1 }, 10).expired).toEqual([]);
  });

  test("what is delayed and not due is passed over and comes later", () => {
    const lane = setup({ window: [1, 2] });
    Object.assign(lane.window[0] as object, { delayed: true, dueAtMs: NOW_MS + 1 });
    const outcome = walk(lane, RULES, 10);
    expect(outcome).toMatchObject({
      grants: [{ offset: 2 }],
      deferred: [{ offset: 1 }],
      nextChangeAtMs: NOW_MS + 1,
    });
    expect(granted(lane, { ...RULES, nowMs: NOW_MS + 1 })).toEqual([
      [1, 1],
      [2, 1],
    ]);
  });

  test("gives nothing to a group with too many failures waiting, which are delivered all the same", () => {
    const lane = setup({ exceptions: [{ offset: 1, state: "backingOff" }], window: [2], behind: true });
    expect(granted(lane, { ...RULES, freshAllowed: false })).toEqual([[1, 2]]);
    expect(walk(lane, { ...RULES, freshAllowed: false }, 10).stop).toBe("exceptions");
  });

  test("gives nothing at the lane's own limit of failures, and one below it does", () => {
    const states = Array.from({ length: MAX_LANE_EXCEPTIONS }, (_, at) => at + 1);
    const exceptions = states.map((offset) => ({ offset, state: "backingOff" as const, atMs: NOW_MS + 1 }));
    const lane = setup({ exceptions, window: [MAX_LANE_EXCEPTIONS + 1] });
    expect(granted(lane, RULES)).toEqual([]);
    lane.settle(1);
    expect(granted(lane, RULES)).toEqual([[MAX_LANE_EXCEPTIONS + 1, 1]]);
  });

  test("asks for the log when more lies there and a delivery is possible", () => {
    expect(walk(setup({ behind: true }), RULES, 1).stop).toBe("unread");
    expect(walk(setup({ behind: true, window: [1] }), RULES, 1).stop).not.toBe("unread");
    expect(walk(setup({ behind: true, window: [1] }), RULES, 2).stop).toBe("unread");
    expect(walk(setup({ behind: true, run: { offsets: [1], forMs: 1 } }), STRICT, 1).stop).not.toBe("unread");
  });
});

describe("age removes a hold", () => {
  const OLD = NOW_MS - RULES.maxRetentionMs;

  test.each(["backingOff", "postponed", "returned", "arrived"] as const)(
    "of a message that is %s",
    (state) => {
      for (const maxInFlight of [1, 10]) {
        const lane = setup({
          exceptions: [{ offset: 1, state, atMs: NOW_MS + 60_000, dueAtMs: OLD }],
          window: [2],
        });
        const { expired, grants } = walk(lane, { ...RULES, maxInFlight }, 10);
        expect([expired, grants.map(({ offset }) => offset)]).toEqual([[1], [2]]);
      }
    },
  );

  test("of a delivery that lapsed, not of one in flight, nor of a dead letter that is decided", () => {
    const lapsed = setup({
      exceptions: [{ offset: 1, state: "inFlight", atMs: NOW_MS, dueAtMs: OLD }],
      window: [2],
    });
    expect(walk(lapsed, RULES, 10).expired).toEqual([1]);
    const held = setup({
      exceptions: [
        { offset: 1, state: "inFlight", atMs: NOW_MS + 1, dueAtMs: OLD },
        { offset: 2, state: "dying", dueAtMs: OLD },
      ],
    });
    expect(walk(held, RULES, 10).expired).toEqual([]);
  });

  test("and says when it will", () => {
    const lane = setup({
      exceptions: [{ offset: 1, state: "postponed", atMs: NOW_MS + 60_000, dueAtMs: OLD + 7 }],
    });
    expect(walk(lane, RULES, 10)).toMatchObject({ expired: [], stop: "barrier", nextChangeAtMs: NOW_MS + 7 });
  });
});
