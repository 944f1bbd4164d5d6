import { expect, test } from "vitest";
import { fieldType } from "../../../src/gateway/field-type.ts";

const TEXT = 45;
const BYTES = 63;
const UNSIGNED = 32;
const ENUM = 256;
const SET = 2048;

test.each([
  [1, 0, BYTES, "INT8"],
  [2, 0, BYTES, "INT16"],
  [9, 0, BYTES, "INT24"],
  [3, 0, BYTES, "INT32"],
  [8, 0, BYTES, "INT64"],
  [1, UNSIGNED, BYTES, "UINT8"],
  [2, UNSIGNED, BYTES, "UINT16"],
  [9, UNSIGNED, BYTES, "UINT24"],
  [3, UNSIGNED, BYTES, "UINT32"],
  [8, UNSIGNED, BYTES, "UINT64"],
  [13, UNSIGNED, BYTES, "YEAR"],
  [4, 0, BYTES, "FLOAT32"],
  [5, UNSIGNED, BYTES, "FLOAT64"],
  [0, 0, BYTES, "DECIMAL"],
  [246, UNSIGNED, BYTES, "DECIMAL"],
  [6, 0, BYTES, "NULL_TYPE"],
  [7, UNSIGNED, BYTES, "TIMESTAMP"],
  [10, 0, BYTES, "DATE"],
  [11, 0, BYTES, "TIME"],
  [12, 0, BYTES, "DATETIME"],
  [16, UNSIGNED, BYTES, "BIT"],
  [245, 0, BYTES, "JSON"],
  [255, 0, BYTES, "GEOMETRY"],
  [253, 0, TEXT, "VARCHAR"],
  [253, 0, BYTES, "VARBINARY"],
  [254, 0, TEXT, "CHAR"],
  [254, 0, BYTES, "BINARY"],
  [254, ENUM, TEXT, "ENUM"],
  [254, SET, TEXT, "SET"],
  [249, 0, TEXT, "TEXT"],
  [252, 0, TEXT, "TEXT"],
  [250, 0, BYTES, "BLOB"],
  [251, 0, BYTES, "BLOB"],
  [252, 0, BYTES, "BLOB"],
])("column type %i with flags %i and character set %i is %s", (columnType, flags, charset, name) => {
  expect(fieldType({ columnType, flags, charset, isJson: false })).toBe(name);
});

test("text with a binary collation is text: its character set decides, not its flags", () => {
  expect(fieldType({ columnType: 253, flags: 128, charset: TEXT, isJson: false })).toBe("VARCHAR");
});

test("MariaDB's JSON is a long text that says so", () => {
  expect(fieldType({ columnType: 251, flags: 0, charset: TEXT, isJson: true })).toBe("JSON");
});

test("a type that is not known is text or bytes", () => {
  expect(fieldType({ columnType: 200, flags: 0, charset: TEXT, isJson: false })).toBe("TEXT");
  expect(fieldType({ columnType: 200, flags: 0, charset: BYTES, isJson: false })).toBe("BLOB");
});
