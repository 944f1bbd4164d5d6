import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { DueQueue } from "../../src/core/due-queue.ts";
import { holds } from "./replay.ts";

const KEYS = 12;
const key = fc.integer({ min: 0, max: KEYS - 1 });
const atMs = fc.integer({ min: 0, max: 40 });
const operation = fc.oneof(
  { weight: 6, arbitrary: fc.record({ kind: fc.constant("set" as const), key, atMs }) },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant("clear" as const), key }) },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant("take" as const), nowMs: atMs }) },
);

function earliest(model: ReadonlyMap<number, number>): number | null {
  return model.size === 0 ? null : Math.min(...model.values());
}

/** Places in the heap, superseded ones included: the bound on memory is about them. */
function heapLength(queue: DueQueue<number>): number {
  return (queue as unknown as { heap: unknown[] }).heap.length;
}

describe("DueQueue", () => {
  test("gives each key once, at the instant set last, in order of instants", () => {
    holds(
      fc.property(fc.array(operation, { maxLength: 120 }), (operations) => {
        const queue = new DueQueue<number>();
        const model = new Map<number, number>();
        for (const op of operations) {
          if (op.kind === "set") {
            queue.set(op.key, op.atMs);
            model.set(op.key, op.atMs);
          } else if (op.kind === "clear") {
            queue.set(op.key, null);
            model.delete(op.key);
          } else {
            const due = [...model].filter(([, at]) => at <= op.nowMs).sort((a, b) => a[1] - b[1]);
            const taken = queue.takeDue(op.nowMs);
            expect(taken.map((one) => model.get(one))).toEqual(due.map(([, at]) => at));
            expect([...taken].sort((a, b) => a - b)).toEqual(due.map(([one]) => one).sort((a, b) => a - b));
            for (const [one] of due) model.delete(one);
          }
          expect(queue.peekAtMs()).toBe(earliest(model));
        }
        const rest = queue.takeDue(Number.POSITIVE_INFINITY);
        expect(rest.map((one) => model.get(one))).toEqual([...model.values()].sort((a, b) => a - b));
        expect(rest.length).toBe(model.size);
      }),
      600,
    );
  });

  test("keeps its memory in proportion to its keys, however often they are set again", () => {
    holds(
      fc.property(fc.array(fc.tuple(key, fc.nat(1_000_000)), { minLength: 300, maxLength: 900 }), (sets) => {
        const queue = new DueQueue<number>();
        const keys = new Set<number>();
        for (const [one, at] of sets) {
          queue.set(one, at);
          keys.add(one);
          expect(heapLength(queue)).toBeLessThanOrEqual(2 * keys.size + 64);
        }
      }),
      20,
    );
  });

  test("setting a key to the instant that it has costs nothing", () => {
    const queue = new DueQueue<string>();
    queue.set("a", 5);
    for (let again = 0; again < 1000; again += 1) queue.set("a", 5);
    expect(heapLength(queue as unknown as DueQueue<number>)).toBe(1);
    expect(queue.takeDue(5)).toEqual(["a"]);
    expect(queue.peekAtMs()).toBeNull();
  });
});
