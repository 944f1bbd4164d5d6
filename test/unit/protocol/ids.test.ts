import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { SPREAD_LANES } from "../../../src/core/limits.ts";
import { isSpreadLane } from "../../../src/core/names.ts";
import { fnv1a32, spreadLane } from "../../../src/core/spread.ts";
import { UUID_RANDOM_BYTES, uuidV7 } from "../../../src/core/uuid.ts";

describe("spread lanes", () => {
  // Published test vectors of the FNV project.
  test.each([
    ["", 0x811c9dc5],
    ["a", 0xe40c292c],
    ["foobar", 0xbf9cf968],
  ])("FNV-1a of %j", (text, hash) => {
    expect(fnv1a32(text)).toBe(hash);
  });

  test("the hash is over the UTF-8 bytes", () => {
    fc.assert(
      fc.property(fc.string({ unit: "binary" }), (text) => {
        let hash = 0x811c9dc5n;
        for (const byte of new TextEncoder().encode(text))
          hash = ((hash ^ BigInt(byte)) * 0x01000193n) & 0xffffffffn;
        expect(fnv1a32(text)).toBe(Number(hash));
      }),
    );
  });

  test("IDs that differ in a digit or a letter spread evenly", () => {
    const counts = new Map<string, number>();
    for (let i = 0; i < 16_000; i++) {
      const lane = spreadLane(`order-${i}/created`);
      expect(isSpreadLane(lane)).toBe(true);
      counts.set(lane, (counts.get(lane) ?? 0) + 1);
    }
    expect(counts.size).toBe(SPREAD_LANES);
    for (const count of counts.values()) expect(Math.abs(count - 1000)).toBeLessThan(200);
  });
});

describe("UUIDv7", () => {
  test("holds time, version and variant at their places", () => {
    const ones = new Uint8Array(UUID_RANDOM_BYTES).fill(0xff);
    expect(uuidV7(0x0123456789ab, ones)).toBe("01234567-89ab-7fff-bfff-ffffffffffff");
    expect(uuidV7(1, new Uint8Array(UUID_RANDOM_BYTES))).toBe("00000000-0001-7000-8000-000000000000");
  });

  test("reads its chance from the offset on", () => {
    const random = Uint8Array.from({ length: 20 }, (_, i) => i);
    expect(uuidV7(0, random, 10)).toBe("00000000-0000-7a0b-8c0d-0e0f10111213");
  });

  test("sorts by time", () => {
    fc.assert(
      fc.property(
        fc.nat(2 ** 47),
        fc.uint8Array({ minLength: 10, maxLength: 10 }),
        fc.uint8Array({ minLength: 10, maxLength: 10 }),
        (nowMs, a, b) => {
          expect(uuidV7(nowMs, a) < uuidV7(nowMs + 1, b)).toBe(true);
        },
      ),
    );
  });
});
