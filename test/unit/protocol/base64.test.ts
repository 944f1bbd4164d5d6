import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { decodeBase64, encodeBase64 } from "../../../src/protocol/base64.ts";

describe("base64", () => {
  test("equals the platform's, and comes back exactly", () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 70 }), (bytes) => {
        const text = encodeBase64(bytes);
        expect(text).toBe(Buffer.from(bytes).toString("base64"));
        expect(decodeBase64(text)).toEqual(Uint8Array.from(bytes));
      }),
    );
  });

  test("what is accepted is what its bytes encode to: no two texts for the same bytes", () => {
    const unit = fc.constantFrom(..."ABCDQgwxyz059+/=-_ \n\0éA=A=".split(""));
    fc.assert(
      fc.property(fc.string({ unit, maxLength: 12 }), (text) => {
        const bytes = decodeBase64(text);
        if (bytes !== null) expect(encodeBase64(bytes)).toBe(text);
      }),
      { numRuns: 5000 },
    );
  });

  test.each([
    "A",
    "AA",
    "AAA",
    "AA=",
    "A===",
    "====",
    "=",
    "AA==AA==",
    "AB==",
    "AAB=",
    "AA A",
    "AAA\n",
    "_-8=",
    "éAAA",
  ])("%j is refused", (text) => {
    expect(decodeBase64(text)).toBeNull();
  });

  test("every byte value, and none", () => {
    const all = Uint8Array.from({ length: 256 }, (_, i) => i);
    expect(decodeBase64(encodeBase64(all))).toEqual(all);
    expect(decodeBase64("")).toEqual(new Uint8Array(0));
    expect(encodeBase64(new Uint8Array(0))).toBe("");
  });
});
