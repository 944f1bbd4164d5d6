import { describe, expect, test } from "vitest";
import { OPAQUE, objectSubject, pairsSubject } from "../../../../src/splitting/filter/subject.ts";

const bytes = (text: string) => new TextEncoder().encode(text);

describe("a message of a Fairlane topic", () => {
  const headers = JSON.parse('{"x":"a","__proto__":"b","empty":""}') as Record<string, unknown>;

  test("has its own properties as headers, and no others", () => {
    const subject = objectSubject(headers, "order-1");
    expect(
      ["x", "empty", "__proto__", "y", "toString", "constructor"].map((name) => subject.header(name)),
    ).toEqual(["a", "", "b", undefined, undefined, undefined]);
    expect(subject.key).toBe("order-1");
    expect(objectSubject({}, null).header("__proto__")).toBeUndefined();
  });
});

describe("a message of a broker", () => {
  test("has the last of repeated headers, with names byte for byte", () => {
    const subject = pairsSubject(
      [
        ["x", "a"],
        ["X", "b"],
        ["x", bytes("ü")],
      ],
      null,
    );
    expect(["x", "X", "ẋ"].map((name) => subject.header(name))).toEqual(["ü", "b", undefined]);
    expect(
      pairsSubject(
        [
          ["x", "a"],
          ["x", 7],
        ],
        null,
      ).header("x"),
    ).toBe(OPAQUE);
    expect(pairsSubject([["__proto__", "a"]], null).header("__proto__")).toBe("a");
  });

  test.each([
    ["a text", "a", "a"],
    ["bytes", bytes("a\n😀"), "a\n😀"],
    ["a byte order mark", bytes("\ufeffa"), "\ufeffa"],
    ["no bytes", new Uint8Array(), ""],
    ["bytes that are no UTF-8", Uint8Array.of(0x61, 0xff), OPAQUE],
    ["a surrogate in bytes", Uint8Array.of(0xed, 0xa0, 0x80), OPAQUE],
    ["half a surrogate pair", "\ud800", OPAQUE],
    ["a number", 1, OPAQUE],
    ["a flag", true, OPAQUE],
    ["null", null, OPAQUE],
    ["undefined", undefined, OPAQUE],
    ["a table", { a: "b" }, OPAQUE],
  ])("has as value %s", (_what, value, expected) => {
    expect(pairsSubject([["x", value]], null).header("x")).toBe(expected);
  });

  test("has a key if that is text", () => {
    expect(
      [null, "k", bytes("ü"), new Uint8Array(), Uint8Array.of(0xff), "\udc00"].map(
        (key) => pairsSubject([], key).key,
      ),
    ).toEqual([null, "k", "ü", "", null, null]);
  });
});
