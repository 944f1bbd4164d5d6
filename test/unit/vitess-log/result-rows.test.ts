import type { Field } from "@planetscale/database";
import { expect, test } from "vitest";
import {
  bytes,
  castValue,
  number,
  numberOrNull,
  text,
  textOrNull,
} from "../../../src/log/vitess/result-rows.ts";

const UTF8MB4 = 255;
const BINARY = 63;
const field = (type: string, charset: number) => ({ name: "c", type, charset }) as Field;
/** As the driver hands a value over: a character for each byte. */
const wire = (plain: string) => Buffer.from(plain).toString("latin1");

test.each([
  ["INT64", "9007199254740991", 2 ** 53 - 1],
  ["UINT64", "0", 0],
  ["INT64", "-1", -1],
  ["INT8", "1", 1],
  ["FLOAT64", "1.25", 1.25],
  ["DECIMAL", "12", 12],
])("%s %s is the number", (type, value, expected) => {
  expect(castValue(field(type, BINARY), value)).toBe(expected);
});

test.each(["9007199254740992", "-9007199254740993", "18446744073709551615"])(
  "%s is refused, not rounded",
  (value) => {
    expect(() => castValue(field("UINT64", BINARY), value)).toThrow(
      expect.objectContaining({ failure: expect.objectContaining({ code: "internal" }) }),
    );
  },
);

test.each(["", "plain", "\u00e9\u{1f600}\u2028", "\ufeffmarked", '{"a":1e400}', "\0"])(
  "text %j is exact, in a column of text and in one of bytes",
  (plain) => {
    for (const type of ["VARCHAR", "JSON", "VARBINARY"]) {
      const charset = type === "VARBINARY" ? BINARY : UTF8MB4;
      expect(text({ c: castValue(field(type, charset), wire(plain)) }, "c")).toBe(plain);
    }
  },
);

test("bytes are bytes, also where they could be text", () => {
  const all = Uint8Array.from({ length: 256 }, (_, byte) => byte);
  const read = (value: string) => bytes({ c: castValue(field("BLOB", BINARY), value) }, "c");
  expect(read(Buffer.from(all).toString("latin1"))).toEqual(all);
  expect(read("abc")).toEqual(new Uint8Array([97, 98, 99]));
  expect(read("")).toEqual(new Uint8Array(0));
});

test("NULL is null whatever the type", () => {
  for (const type of ["INT64", "VARCHAR", "BLOB", "FLOAT64", "NULL"]) {
    expect(castValue(field(type, BINARY), null)).toBeNull();
  }
});

test("bytes that are no text are refused where text is asked for", () => {
  expect(() => text({ c: "\xff" }, "c")).toThrow(/not UTF-8/);
});

test("a column of another kind than asked for is refused", () => {
  const row = { text: "a", number: 1, nothing: null };
  expect([text(row, "text"), textOrNull(row, "nothing")]).toEqual(["a", null]);
  expect([number(row, "number"), numberOrNull(row, "nothing")]).toEqual([1, null]);
  expect(bytes(row, "text")).toEqual(new Uint8Array([97]));
  for (const read of [() => text(row, "number"), () => number(row, "text"), () => bytes(row, "number")]) {
    expect(read).toThrow(/column .* holds no/);
  }
  expect(() => text(row, "nothing")).toThrow();
  expect(() => number(row, "absent")).toThrow();
});
