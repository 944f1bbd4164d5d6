import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { mayTake, type ShareInput, shares } from "../../src/core/share.ts";
import { holds } from "./replay.ts";

interface Situation {
  held: number[];
  free: number;
  /** Busy, without owner, and not to be granted now. */
  blocked: number;
  /** asks: a receive waits; delivers: holds deliveries only; idle: live, and neither. */
  roles: ("asks" | "delivers" | "idle")[];
}

const situation: fc.Arbitrary<Situation> = fc.integer({ min: 1, max: 7 }).chain((size) =>
  fc.record({
    held: fc.array(fc.integer({ min: 0, max: 8 }), { minLength: size, maxLength: size }),
    free: fc.integer({ min: 0, max: 6 }),
    blocked: fc.integer({ min: 0, max: 4 }),
    roles: fc.array(fc.constantFrom("asks" as const, "asks" as const, "delivers" as const, "idle" as const), {
      minLength: size,
      maxLength: size,
    }),
  }),
);

const nameOf = (at: number) => `s${at}`;
const sum = (numbers: Iterable<number>) => [...numbers].reduce((total, one) => total + one, 0);

function inputOf({ held, free, blocked, roles }: Situation): ShareInput {
  const named = roles.map((role, at) => ({ role, name: nameOf(at) }));
  return {
    busyLanes: sum(held) + free + blocked,
    freeReadyLanes: free,
    heldLanes: new Map(
      held.map((lanes, at) => [nameOf(at), lanes] as const).filter(([, lanes]) => lanes > 0),
    ),
    counted: new Set(named.filter(({ role }) => role !== "idle").map(({ name }) => name)),
    asking: new Set(named.filter(({ role }) => role === "asks").map(({ name }) => name)),
  };
}

const leastOf = (input: ShareInput) => Math.floor(input.busyLanes / Math.max(1, input.counted.size));

function missingOf(input: ShareInput, share: number): number {
  const wanted = [...input.asking].map((name) => Math.max(0, share - (input.heldLanes.get(name) ?? 0)));
  return Math.max(0, sum(wanted) - input.freeReadyLanes);
}

function afterGivingUp(before: Situation, giveUp: ReadonlyMap<string, number>): Situation {
  const held = before.held.map((lanes, at) => lanes - (giveUp.get(nameOf(at)) ?? 0));
  return { ...before, held, free: before.free + sum(giveUp.values()) };
}

/** Every asker in turn takes what it may; returns the situation after. */
function afterTaking(before: Situation, wanted: number): Situation {
  const after = { ...before, held: [...before.held] };
  for (const [at, role] of before.roles.entries()) {
    if (role !== "asks") continue;
    const input = inputOf(after);
    const taken = Math.min(mayTake(input, nameOf(at)), after.free, wanted);
    after.held[at] = (after.held[at] as number) + taken;
    after.free -= taken;
  }
  return after;
}

describe("shares", () => {
  test("the share is the busy lanes over the counted subscribers, rounded up", () => {
    holds(
      fc.property(situation, (before) => {
        const input = inputOf(before);
        const { share } = shares(input);
        const counted = Math.max(1, input.counted.size);
        expect(share * counted).toBeGreaterThanOrEqual(input.busyLanes);
        expect((share - 1) * counted).toBeLessThan(Math.max(1, input.busyLanes));
      }),
    );
  });

  test("no more is given up than is missing, and nobody counted goes below its share rounded down", () => {
    holds(
      fc.property(situation, (before) => {
        const input = inputOf(before);
        const { share, giveUp } = shares(input);
        expect(sum(giveUp.values())).toBeLessThanOrEqual(missingOf(input, share));
        for (const [owner, given] of giveUp) {
          expect(given).toBeGreaterThan(0);
          const left = (input.heldLanes.get(owner) ?? 0) - given;
          expect(left).toBeGreaterThanOrEqual(input.counted.has(owner) ? leastOf(input) : 0);
        }
      }),
      1000,
    );
  });

  test("what is missing is given up as far as anybody has it", () => {
    holds(
      fc.property(situation, (before) => {
        const input = inputOf(before);
        const { share, giveUp } = shares(input);
        const spare = [...input.heldLanes].map(([owner, lanes]) =>
          input.counted.has(owner) ? Math.max(0, lanes - share) : lanes,
        );
        expect(sum(giveUp.values())).toBeGreaterThanOrEqual(Math.min(missingOf(input, share), sum(spare)));
      }),
      1000,
    );
  });

  test("no asker is left below its share rounded down while another counted one has more than that", () => {
    holds(
      fc.property(situation, (before) => {
        const input = inputOf(before);
        const after = afterGivingUp(before, shares(input).giveUp);
        const least = leastOf(input);
        const wanted = [...input.asking].map((name) =>
          Math.max(0, least - (inputOf(after).heldLanes.get(name) ?? 0)),
        );
        if (sum(wanted) <= after.free) return;
        for (const name of input.counted) {
          expect(inputOf(after).heldLanes.get(name) ?? 0).toBeLessThanOrEqual(least);
        }
      }),
      1000,
    );
  });

  test("no lane moves while everyone who asks has its share", () => {
    holds(
      fc.property(situation, (before) => {
        const input = inputOf(before);
        const { share, giveUp } = shares(input);
        const content = [...input.asking].every((name) => (input.heldLanes.get(name) ?? 0) >= share);
        fc.pre(content);
        expect(giveUp.size).toBe(0);
      }),
    );
  });

  test("owners that are not counted give everything before a counted one gives anything", () => {
    holds(
      fc.property(situation, (before) => {
        const input = inputOf(before);
        const { giveUp } = shares(input);
        fc.pre([...giveUp.keys()].some((owner) => input.counted.has(owner)));
        for (const [owner, lanes] of input.heldLanes) {
          if (!input.counted.has(owner)) expect(giveUp.get(owner)).toBe(lanes);
        }
      }),
    );
  });

  test("those furthest above their share give first", () => {
    holds(
      fc.property(situation, (before) => {
        const input = inputOf(before);
        const { share, giveUp } = shares(input);
        const over = (owner: string) => (input.heldLanes.get(owner) ?? 0) - share;
        for (const giver of giveUp.keys()) {
          for (const other of input.counted) {
            if (!input.counted.has(giver) || over(other) <= over(giver)) continue;
            expect(giveUp.get(other)).toBeGreaterThanOrEqual(over(other));
          }
        }
      }),
    );
  });

  test("what was given up is not asked for again", () => {
    holds(
      fc.property(situation, (before) => {
        const first = shares(inputOf(before));
        const second = shares(inputOf(afterGivingUp(before, first.giveUp)));
        expect(second.share).toBe(first.share);
        expect(second.giveUp.size).toBe(0);
      }),
      1000,
    );
  });

  test("the order in which owners are listed decides nothing", () => {
    holds(
      fc.property(situation, (before) => {
        const input = inputOf(before);
        const turned = { ...input, heldLanes: new Map([...input.heldLanes].reverse()) };
        expect(shares(turned).giveUp).toEqual(shares(input).giveUp);
      }),
    );
  });
});

describe("taking and giving up in turn", () => {
  test("ends with every asker at its share, or with nobody above it and nothing free", () => {
    holds(
      fc.property(situation, fc.integer({ min: 1, max: 4 }), (start, wanted) => {
        let now = start;
        const rounds = 2 * inputOf(start).busyLanes + 2;
        for (let round = 0; round < rounds; round += 1) {
          now = afterTaking(afterGivingUp(now, shares(inputOf(now)).giveUp), wanted);
        }
        const input = inputOf(now);
        const { share, giveUp } = shares(input);
        expect(giveUp.size).toBe(0);
        const short = [...input.asking].filter((name) => (input.heldLanes.get(name) ?? 0) < share);
        if (short.length === 0) return;
        expect(now.free).toBe(0);
        for (const [owner, lanes] of input.heldLanes) {
          expect(lanes).toBeLessThanOrEqual(input.counted.has(owner) ? share : 0);
        }
      }),
      1000,
    );
  });

  test("moves no more lanes than were missing at the start", () => {
    holds(
      fc.property(situation, (start) => {
        const missing = missingOf(inputOf(start), shares(inputOf(start)).share);
        let moved = 0;
        let now = start;
        for (let round = 0; round < 10; round += 1) {
          const { giveUp } = shares(inputOf(now));
          moved += sum(giveUp.values());
          now = afterTaking(afterGivingUp(now, giveUp), 100);
        }
        expect(moved).toBeLessThanOrEqual(missing);
      }),
    );
  });
});

describe("mayTake", () => {
  test("binds only while another asker is below its share, and then at the share, rounded down for who has less", () => {
    holds(
      fc.property(situation, (before) => {
        const input = inputOf(before);
        const { share } = shares(input);
        for (const name of input.asking) {
          const held = input.heldLanes.get(name) ?? 0;
          const others = [...input.asking]
            .filter((other) => other !== name)
            .map((other) => input.heldLanes.get(other) ?? 0);
          const fewest = Math.min(...others, Number.POSITIVE_INFINITY);
          let expected = Number.POSITIVE_INFINITY;
          if (fewest < share) expected = Math.max(0, share - held);
          if (fewest < leastOf(input)) expected = Math.max(0, leastOf(input) - held);
          expect(mayTake(input, name)).toBe(expected);
        }
      }),
      1000,
    );
  });
});
