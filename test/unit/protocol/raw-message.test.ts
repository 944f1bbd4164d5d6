import { describe, expect, test } from "vitest";
import { spreadLane } from "../../../src/core/spread.ts";
import { readRawHeaders } from "../../../src/protocol/raw-message.ts";

const read = (headers: Record<string, string>) => readRawHeaders(Object.entries(headers), () => "made");
const paths = (headers: Record<string, string>) => read(headers).issues.issues.map((issue) => issue.path);

describe("raw publish headers", () => {
  test("all of them", () => {
    const { message, issues } = read({
      authorization: "Bearer x",
      "Content-Type": "text/csv; charset=x",
      "X-Fairlane-Id": "a%25b",
      "x-fairlane-partition-key": "%D0%BA%20%F0%9F%9A%9A",
      "x-fairlane-delay-ms": "500",
      "x-fairlane-header-X-Dev": "100% alice",
    });
    expect(issues.isEmpty).toBe(true);
    expect(message).toEqual({
      id: "a%b",
      partitionKey: "к 🚚",
      contentType: "text/csv; charset=x",
      headers: '{"x-dev":"100% alice"}',
      delayMs: 500,
    });
  });

  test("none of them", () => {
    expect(read({}).message).toEqual({
      id: "made",
      partitionKey: spreadLane("made"),
      contentType: "application/octet-stream",
      headers: "",
      delayMs: 0,
    });
  });

  test.each([
    ["x-fairlane-id", ""],
    ["x-fairlane-id", "%"],
    ["x-fairlane-id", "%ed%a0%80"],
    ["x-fairlane-id", "é"],
    ["x-fairlane-partition-key", "%zz"],
    ["x-fairlane-partition-key", "%ff"],
    ["x-fairlane-partition-key", "a%20"],
    ["x-fairlane-partition-key", "%7e1"],
    ["x-fairlane-delay-ms", ""],
    ["x-fairlane-delay-ms", "1.5"],
    ["x-fairlane-delay-ms", "604800001"],
    ["x-fairlane-delay-ms", "1e3"],
    ["x-fairlane-headers", "a"],
    ["x-fairlane-", "a"],
    ["x-fairlane-header-", "a"],
    ["x-fairlane-header-a`", "a"],
    ["x-fairlane-header-a", "é"],
    ["content-type", "é"],
    ["content-type", ""],
  ])("%s: %j is refused by its name", (name, value) => {
    expect(paths({ [name]: value })).toEqual([name]);
  });
});
