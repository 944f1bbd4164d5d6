import { describe, expect, test } from "vitest";
import { SeenOffsets } from "../../../src/cli/seen-offsets.ts";

const SECOND = 1_000_000;

describe("seen offsets", () => {
  test("show each once, also one that comes late", () => {
    const seen = new SeenOffsets([100, 200]);
    expect(seen.readFrom).toBe(99);
    expect([300, 200, 250, 250, 100, 99, 50].map((offset) => seen.add(offset))).toEqual([
      true,
      false,
      true,
      false,
      false,
      false,
      false,
    ]);
  });

  test("of an empty topic begin at its beginning", () => {
    const seen = new SeenOffsets([]);
    expect(seen.readFrom).toBe(0);
    expect(seen.add(5)).toBe(true);
  });

  test("read some seconds once more, not all that was shown", () => {
    const seen = new SeenOffsets([SECOND]);
    seen.add(5 * SECOND);
    expect(seen.readFrom).toBe(SECOND - 1);
    seen.add(60 * SECOND);
    expect(seen.readFrom).toBe(5 * SECOND);
    expect(seen.add(6 * SECOND), "behind the floor, late but in time").toBe(true);
    expect(seen.add(5 * SECOND)).toBe(false);
  });

  test("are bounded however many come at once", () => {
    const seen = new SeenOffsets([]);
    for (let offset = 1; offset <= 10_000; offset += 1) expect(seen.add(offset)).toBe(true);
    expect(seen.readFrom).toBe(9800);
    expect(seen.add(9801)).toBe(false);
  });
});
