import { InvalidArgumentError } from "commander";
import { describe, expect, test } from "vitest";
import {
  durationFlag,
  durationMs,
  durationText,
  integerFlag,
  timeoutFlag,
} from "../../../src/cli/durations.ts";
import { relativeText, timeText } from "../../../src/cli/times.ts";
import { MAX_DURATION_MS } from "../../../src/core/limits.ts";

describe("durations", () => {
  test.each([
    ["0ms", 0],
    ["500ms", 500],
    ["5s", 5000],
    ["10m", 600_000],
    ["2h", 7_200_000],
    ["7d", 604_800_000],
    ["3650d", MAX_DURATION_MS],
  ])("%s is %i ms", (text, ms) => {
    expect(durationMs(text)).toBe(ms);
    expect(durationFlag(text)).toBe(ms);
  });

  test.each([
    "",
    "5",
    "s",
    "5 s",
    "-5s",
    "+5s",
    "1.5s",
    "5S",
    "5w",
    "1e3s",
    "3651d",
    `${"9".repeat(16)}s`,
    "5s\n",
  ])("%j is none", (text) => {
    expect(durationMs(text)).toBeNull();
    expect(() => durationFlag(text)).toThrow(InvalidArgumentError);
  });

  test("a timeout is some time at all", () => {
    expect(timeoutFlag("1ms")).toBe(1);
    expect(() => timeoutFlag("0s")).toThrow(InvalidArgumentError);
  });

  test.each([
    [0, "0 ms"],
    [999, "999 ms"],
    [12_000, "12 s"],
    [119_000, "119 s"],
    [120_000, "2 min"],
    [7_200_000, "2 h"],
    [604_800_000, "7 d"],
  ])("%i ms reads %s", (ms, text) => {
    expect(durationText(ms)).toBe(text);
  });
});

describe("whole numbers", () => {
  const flag = integerFlag(1, 1000);
  test("within the bounds", () => {
    expect([flag("1"), flag("1000")]).toEqual([1, 1000]);
    expect(integerFlag(0, Number.MAX_SAFE_INTEGER)("9007199254740991")).toBe(Number.MAX_SAFE_INTEGER);
  });
  test.each(["0", "1001", "", "x", "1.0", "1e2", "-1", "0x10", " 1"])("not %j", (text) => {
    expect(() => flag(text)).toThrow(InvalidArgumentError);
  });
  test("not one that a number cannot hold", () => {
    expect(() => integerFlag(0, Number.MAX_SAFE_INTEGER)("9007199254740993")).toThrow(InvalidArgumentError);
  });
});

describe("times", () => {
  const nowMs = new Date(2026, 10, 29, 14, 0, 0).getTime();
  test("of today have no date", () => {
    expect(timeText(nowMs + 3000, nowMs)).toBe("14:00:03");
    expect(timeText(nowMs - 86_400_000, nowMs)).toBe("2026-11-28 14:00:00");
  });
  test("say how far away they are", () => {
    expect(relativeText(nowMs + 12_000, nowMs)).toBe("in 12 s");
    expect(relativeText(nowMs - 180_000, nowMs)).toBe("3 min ago");
    expect(relativeText(nowMs + 100, nowMs)).toBe("now");
  });
});
