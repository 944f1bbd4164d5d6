import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { AssertionFailure } from "../../src/core/assert.ts";
import { Lane, type LaneEntry } from "../../src/core/lane.ts";
import { LaneWorld, MAX_WINDOW, type Step, step } from "./lane-world.ts";
import { holds } from "./replay.ts";

const steps = fc.array(step, { maxLength: 60, size: "max" });
const maxInFlight = fc.oneof(fc.constant(1), fc.integer({ min: 1, max: 8 }));

function play(all: readonly Step[], inFlight: number, check: (world: LaneWorld, at: Step) => void): void {
  const world = new LaneWorld(inFlight);
  for (const next of all) {
    world.take(next);
    check(world, next);
  }
}

/** Strictly: a number that stands there twice is not ascending. */
function isAscending(numbers: readonly number[]): boolean {
  return numbers.every((number, at) => at === 0 || number > (numbers[at - 1] as number));
}

function runOffsets(lane: Lane): number[] {
  return lane.runs.flatMap((run) => run.messages.map(({ offset }) => offset));
}

/** The places of one message; more than one, or none, is a defect of the lane. */
function placesOf(world: LaneWorld, entry: LaneEntry): string[] {
  const { lane, settled, scanOffset } = world;
  const { offset } = entry;
  const places: string[] = [];
  if (settled.has(offset)) places.push("settled");
  for (const one of runOffsets(lane)) if (one === offset) places.push("run");
  for (const one of lane.exceptions) if (one.offset === offset) places.push("exception");
  for (const one of lane.window) if (one.offset === offset) places.push("window");
  if (offset > scanOffset) places.push("not scanned");
  else if (lane.behind && offset > Math.max(lane.windowThrough, lane.walkedOffset)) places.push("unread");
  else if (places.length === 0 && !world.hasArrived(entry)) places.push("delayed");
  return places;
}

describe("a lane", () => {
  test("G9 G11 has every message of its partition in exactly one place, whatever happens", () => {
    holds(
      fc.property(steps, maxInFlight, (all, inFlight) => {
        play(all, inFlight, (world, at) => {
          for (const entry of world.log) {
            // Settled by a reset, and still to come: then both are so.
            const places = placesOf(world, entry);
            if (places.length !== 1)
              throw new Error(`${entry.offset} is ${places} after ${JSON.stringify(at)}`);
          }
        });
      }),
      1500,
    );
  });

  test("keeps runs, exceptions and window ascending, and on their side of the walked offset", () => {
    holds(
      fc.property(steps, maxInFlight, (all, inFlight) => {
        play(all, inFlight, ({ lane }) => {
          const walked = [...runOffsets(lane), ...lane.exceptions.map(({ offset }) => offset)];
          const ahead = lane.window.map(({ offset }) => offset);
          const good =
            isAscending(runOffsets(lane)) &&
            isAscending(lane.exceptions.map(({ offset }) => offset)) &&
            isAscending(ahead) &&
            lane.runs.every((run) => run.messages.length > 0) &&
            walked.every((offset) => offset <= lane.walkedOffset) &&
            ahead.every((offset) => offset > lane.walkedOffset) &&
            ahead.length <= MAX_WINDOW;
          expect(good).toBe(true);
        });
      }),
      1000,
    );
  });

  test("is walked forward only, but for a reset", () => {
    holds(
      fc.property(steps, maxInFlight, (all, inFlight) => {
        let before = 0;
        play(all, inFlight, ({ lane }, at) => {
          if (at.kind !== "reset") expect(lane.walkedOffset).toBeGreaterThanOrEqual(before);
          before = lane.walkedOffset;
        });
      }),
    );
  });

  test("notes every change that its rows need", () => {
    holds(
      fc.property(steps, maxInFlight, (all, inFlight) => {
        play(all, inFlight, (world) => {
          world.flush();
          const { lane } = world;
          const stored = world.stored();
          expect(stored.lease).toEqual(lane.lease);
          expect(stored.runs).toEqual(lane.runs);
          expect(stored.exceptions).toEqual(lane.exceptions);
          expect(stored.hasMore).toBe(lane.hasMore);
          if (lane.hasUnsettled) expect(stored.walkedOffset).toBe(lane.walkedOffset);
        });
      }),
      500,
    );
  });

  test("G5 names a holder for what is delivered, and for nothing else", () => {
    holds(
      fc.property(steps, maxInFlight, (all, inFlight) => {
        play(all, inFlight, ({ lane, log }) => {
          for (const { offset } of log) {
            const run = lane.runAt(offset);
            const exception = lane.exceptionAt(offset);
            const nonce = run?.nonce ?? (exception?.state === "inFlight" ? exception.nonce : undefined);
            if (lane.holderOf(offset)?.nonce !== nonce) throw new Error(`${offset} is held wrongly`);
            if (lane.isSettledBelow(offset) === (run !== undefined || exception !== undefined)) {
              throw new Error(`${offset} is settled and unsettled`);
            }
          }
        });
      }),
    );
  });

  test("delivers everything in the end: nothing stays behind once all that is taken is settled", () => {
    holds(
      fc.property(steps, maxInFlight, (all, inFlight) => {
        const world = new LaneWorld(inFlight);
        for (const next of all) world.take(next);
        for (let round = 0; round < 4 * world.log.length + 10; round += 1) {
          world.take({ kind: "pass", ms: 300 });
          world.take({ kind: "readDue" });
          world.take({ kind: "readLane", count: 5 });
          world.take({ kind: "readTail", count: 5 });
          world.take({ kind: "take", count: 5 });
          world.take({ kind: "settleDying" });
          for (let held = 0; held < 8; held += 1) world.take({ kind: "ack", which: 0, ms: 0 });
        }
        expect(world.lane.hasUnsettled).toBe(false);
        for (const { offset } of world.log) expect(world.settled.has(offset)).toBe(true);
      }),
    );
  });

  test("a walk backward and an empty run are refused as errors of the program", () => {
    const lane = new Lane("p", 5);
    expect(() => lane.walkTo(4)).toThrow(AssertionFailure);
    const run = { nonce: "n", subscriber: "s", epoch: 1, visibleUntilMs: 1 };
    expect(() => lane.grantRun(run, [])).toThrow(AssertionFailure);
    expect(lane.runs).toEqual([]);
  });
});
