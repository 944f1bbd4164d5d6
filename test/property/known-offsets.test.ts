import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { AssertionFailure } from "../../src/core/assert.ts";
import { decodeOffsets, encodeOffsets, type Interval, KnownOffsets } from "../../src/core/known-offsets.ts";
import { holds } from "./replay.ts";

/** A day of microseconds in 2026: where offsets lie. */
const TODAY = 200_000_000_000_000;

type Step =
  | { kind: "add"; offset: number }
  | { kind: "batches"; count: number; length: number; apart: number; descending: boolean }
  | { kind: "raise"; part: number }
  | { kind: "spill" }
  | { kind: "restart" };

const step: fc.Arbitrary<Step> = fc.oneof(
  { weight: 6, arbitrary: fc.record({ kind: fc.constant("add" as const), offset: fc.nat(400) }) },
  {
    weight: 3,
    arbitrary: fc.record({
      kind: fc.constant("batches" as const),
      count: fc.integer({ min: 1, max: 40 }),
      length: fc.integer({ min: 1, max: 4 }),
      apart: fc.integer({ min: 1, max: 6 }),
      descending: fc.boolean(),
    }),
  },
  {
    weight: 1,
    arbitrary: fc.record({
      kind: fc.constant("raise" as const),
      part: fc.double({ min: -0.1, max: 1.1, noNaN: true }),
    }),
  },
  { weight: 1, arbitrary: fc.constant({ kind: "spill" as const }) },
  { weight: 1, arbitrary: fc.constant({ kind: "restart" as const }) },
);

/** The rows of an owner, and beside them plain sets that say what should be known. */
class World {
  known: KnownOffsets;
  readonly base: number;
  readonly all = new Set<number>();
  unsaved = new Set<number>();
  chunks: { lastOffset: number; text: string }[] = [];
  sure: number;
  top: number;

  constructor(base: number) {
    this.base = base;
    this.sure = base;
    this.top = base;
    this.known = new KnownOffsets(base);
  }

  take(next: Step): void {
    switch (next.kind) {
      case "add":
        this.add(this.base + next.offset);
        return;
      case "batches": {
        const start = this.top + next.apart;
        const offsets = Array.from({ length: next.count * next.length }, (_, at) => {
          const batch = Math.floor(at / next.length);
          return start + batch * (next.length + next.apart - 1) + (at % next.length);
        });
        if (next.descending) offsets.reverse();
        for (const offset of offsets) this.add(offset);
        return;
      }
      case "raise": {
        const offset = Math.max(0, this.base + Math.floor(next.part * (this.top - this.base)));
        this.known.raiseSure(offset);
        this.sure = Math.max(this.sure, offset);
        for (const one of this.unsaved) if (one <= this.sure) this.unsaved.delete(one);
        this.chunks = this.chunks.filter(({ lastOffset }) => lastOffset > this.sure);
        return;
      }
      case "spill": {
        const chunk = this.known.spill();
        expect(chunk?.lastOffset).toBe(this.unsaved.size > 0 ? Math.max(...this.unsaved) : undefined);
        if (chunk) this.chunks.push(chunk);
        this.unsaved = new Set();
        return;
      }
      case "restart": {
        const texts = this.chunks.map(({ text }) => text).reverse();
        this.known = KnownOffsets.load(this.sure, texts, this.known.unsavedText);
      }
    }
  }

  add(offset: number): void {
    const isNew = offset > this.sure && !this.all.has(offset);
    expect(this.known.add(offset)).toBe(isNew);
    this.top = Math.max(this.top, offset);
    if (!isNew) return;
    this.all.add(offset);
    this.unsaved.add(offset);
  }

  check(): void {
    for (let offset = Math.max(0, this.base - 2); offset <= this.top + 2; offset += 1) {
      const expected = offset <= this.sure || this.all.has(offset);
      if (this.known.has(offset) !== expected) expect(this.known.has(offset), `has ${offset}`).toBe(expected);
    }
    const kept = [...this.all].filter((offset) => offset > this.sure);
    expect(this.known.sureOffset).toBe(this.sure);
    expect(this.known.size).toBe(intervalsOf(kept).length);
    expect(this.known.unsavedText).toBe(encodeOffsets(intervalsOf([...this.unsaved])));
    expect(this.known.unsavedCount).toBe(this.unsaved.size);
  }
}

function intervalsOf(offsets: number[]): Interval[] {
  const intervals: Interval[] = [];
  for (const offset of offsets.sort((a, b) => a - b)) {
    const open = intervals.at(-1);
    if (open?.last === offset - 1) open.last = offset;
    else intervals.push({ first: offset, last: offset });
  }
  return intervals;
}

/** Numbers of every size, up to the last that is exact. */
const size = fc.integer({ min: 0, max: 52 }).chain((bits) => fc.integer({ min: 0, max: 2 ** bits }));
const intervals = fc.array(fc.record({ gap: size, longer: fc.oneof(fc.constant(0), size) })).map((all) => {
  const made: Interval[] = [];
  let through = -2;
  for (const { gap, longer } of all) {
    const first = through + 2 + gap;
    through = first + longer;
    if (through <= Number.MAX_SAFE_INTEGER) made.push({ first, last: through });
    else break;
  }
  return made;
});

describe("known offsets", () => {
  test("are those that were added or are sure, also from the saved rows", () => {
    holds(
      fc.property(fc.constantFrom(0, TODAY), fc.array(step, { maxLength: 30, size: "max" }), (base, all) => {
        const world = new World(base);
        for (const next of all) {
          world.take(next);
          world.check();
        }
        world.take({ kind: "restart" });
        world.check();
      }),
      400,
    );
  });

  test("stay right over many chunks of intervals, filled and joined in any order", () => {
    const places = Array.from({ length: 3000 }, (_, at) => at);
    holds(
      fc.property(
        fc.shuffledSubarray(places, { minLength: 3000 }),
        fc.nat(3000),
        fc.boolean(),
        (order, at, all) => {
          const world = new World(TODAY);
          const even = order.filter((place) => place % 2 === 0);
          const odd = order.filter((place) => place % 2 === 1);
          for (const place of even) world.add(TODAY + 1 + place);
          world.check();
          for (const place of all ? odd : odd.slice(at % odd.length)) world.add(TODAY + 1 + place);
          world.check();
          world.take({ kind: "raise", part: at / 3000 });
          world.check();
        },
      ),
      20,
    );
  });
});

describe("the text of offsets", () => {
  test("gives back the same intervals, up to the largest exact integer", () => {
    holds(
      fc.property(intervals, (all) => {
        const text = encodeOffsets(all);
        expect(text).toMatch(/^[\w~-]*$/);
        expect(decodeOffsets(text)).toEqual(all);
      }),
      1000,
    );
  });

  test.each([0, 31, 32, 2 ** 31, Number.MAX_SAFE_INTEGER - 1, Number.MAX_SAFE_INTEGER])(
    "holds %d",
    (offset) => {
      const alone = [{ first: offset, last: offset }];
      expect(decodeOffsets(encodeOffsets(alone))).toEqual(alone);
      const allFrom = [{ first: offset, last: Number.MAX_SAFE_INTEGER }];
      expect(decodeOffsets(encodeOffsets(allFrom))).toEqual(allFrom);
    },
  );

  test("is refused or is the one text of its intervals, whatever is read", () => {
    const digits = [..."ABgh01-_~"];
    const garbage = fc.oneof(
      fc.string({ unit: fc.constantFrom(...digits), maxLength: 14 }),
      fc.string({ maxLength: 4 }),
      // One character of a good text is another.
      fc
        .tuple(intervals, fc.nat(), fc.string({ unit: "binary", minLength: 1, maxLength: 1 }))
        .map(([all, at, other]) => {
          const text = encodeOffsets(all);
          const place = at % (text.length + 1);
          return text.slice(0, place) + other + text.slice(place + 1);
        }),
    );
    let refused = 0;
    holds(
      fc.property(garbage, (text) => {
        let read: Interval[];
        try {
          read = decodeOffsets(text);
        } catch (error) {
          expect(error).toBeInstanceOf(AssertionFailure);
          refused += 1;
          return;
        }
        expect(encodeOffsets(read)).toBe(text);
      }),
      2000,
    );
    expect(refused).toBeGreaterThan(0);
  });

  test.each([
    [
      "no ascending intervals",
      [
        { first: 5, last: 5 },
        { first: 3, last: 3 },
      ],
    ],
    [
      "intervals that touch",
      [
        { first: 5, last: 5 },
        { first: 6, last: 6 },
      ],
    ],
    ["an interval that ends before it begins", [{ first: 5, last: 4 }]],
    ["a negative offset", [{ first: -1, last: 0 }]],
    ["an offset that is not exact", [{ first: 1, last: 2 ** 53 }]],
    ["an offset that is no integer", [{ first: 1.5, last: 1.5 }]],
    ["no number", [{ first: Number.NaN, last: Number.NaN }]],
  ])("is not made of %s", (_, wrong) => {
    expect(() => encodeOffsets(wrong)).toThrow(AssertionFailure);
  });

  test("takes at most three bytes an offset at a thousand single publishes a second, and few for a batch", () => {
    const singles = Array.from({ length: 1000 }, (_, at) => TODAY + at * 1000 + ((at * 7) % 13));
    expect(encodeOffsets(intervalsOf(singles)).length).toBeLessThan(3 * singles.length);
    expect(encodeOffsets([{ first: TODAY, last: TODAY + 99 }]).length).toBeLessThan(15);
  });
});

describe("a text is refused", () => {
  const largest = encodeOffsets([{ first: Number.MAX_SAFE_INTEGER, last: Number.MAX_SAFE_INTEGER }]);

  test.each([
    ["that ends within a number", "B"],
    ["with a number that begins with 0", "Ag"],
    ["with a foreign character", "g!"],
    ["with a run of nothing", "~g"],
    ["with a run without length", "g~"],
    ["with two lengths", "g~g~g"],
    ["with a number that is not exact", `${"B".repeat(11)}g`],
    ["with an offset that is not exact", `${largest}g`],
    ["with a run to where it is not exact", `${largest}~g`],
  ])("%s", (_, text) => {
    expect(() => decodeOffsets(text)).toThrow(AssertionFailure);
  });
});

describe("known offsets refuse", () => {
  test.each([-1, 0.5, Number.NaN, 2 ** 53])("the offset %d", (offset) => {
    expect(() => new KnownOffsets(offset)).toThrow(AssertionFailure);
    expect(() => new KnownOffsets(0).add(offset)).toThrow(AssertionFailure);
    expect(() => new KnownOffsets(0).raiseSure(offset)).toThrow(AssertionFailure);
  });

  test("to load garbage, from a chunk or from the row", () => {
    expect(() => KnownOffsets.load(0, ["!"], "")).toThrow(AssertionFailure);
    expect(() => KnownOffsets.load(0, [], "!")).toThrow(AssertionFailure);
  });

  test("to spill nothing", () => {
    const known = new KnownOffsets(10);
    expect(known.spill()).toBeNull();
    known.add(12);
    known.raiseSure(12);
    expect(known.unsavedText).toBe("");
    expect(known.spill()).toBeNull();
  });
});
