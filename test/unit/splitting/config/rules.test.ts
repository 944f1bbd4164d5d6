import { describe, expect, test } from "vitest";
import { Issues, RULES } from "../../../../src/splitting/config/issue.ts";
import { parseConfig } from "../../../../src/splitting/config/parse-config.ts";
import { BAD_CONFIGS } from "./bad-configs.ts";
import { BAD_WORKLOADS } from "./bad-workloads.ts";
import { validated } from "./manifest.ts";
import { RUBBISH } from "./rubbish.ts";

describe("a configuration with one mistake says that one, where it is", () => {
  test.each(BAD_CONFIGS.map((one) => [`${one.rule}: ${one.what}`, one] as const))("%s", (_name, one) => {
    const issues = new Issues();
    const text = { text: one.text, file: "queues.yaml", workload: null, placeIn: (place: object) => place };
    parseConfig(text as Parameters<typeof parseConfig>[0], issues);
    expect(issues.list.map(({ rule }) => rule).sort()).toEqual([one.rule, ...(one.also ?? [])].sort());
    const { path, place, suggestion, message } = issues.list.find(({ rule }) => rule === one.rule) ?? {};
    expect({ path, line: place?.line, suggestion }).toEqual({
      path: one.path,
      line: one.line,
      suggestion: one.suggestion ?? null,
    });
    expect(message, "of a value nothing is repeated").not.toContain("hunter2");
  });
});

describe("a workload with one mistake says that one", () => {
  test.each(BAD_WORKLOADS.map((one) => [`${one.rule}: ${one.what}`, one] as const))("%s", (_name, one) => {
    const { issues, workloads } = validated(one.given);
    expect(issues.map(({ rule }) => rule).sort()).toEqual([one.rule, ...(one.also ?? [])].sort());
    const { path, suggestion, message } = issues.find(({ rule }) => rule === one.rule) ?? {};
    expect({ path, suggestion }).toEqual({ path: one.path, suggestion: one.suggestion ?? null });
    expect(message, "of a value nothing is repeated").not.toContain("hunter2");
    for (const { workload, valid } of workloads) {
      const isItsOwn = issues.some((issue) => issue.workload === workload.label);
      if (isItsOwn) expect(valid, workload.label).toBe(false);
    }
  });
});

test("every rule has a case", () => {
  const cases = new Set([
    ...BAD_CONFIGS.map(({ rule }) => rule),
    ...BAD_WORKLOADS.map(({ rule }) => rule),
    ...RUBBISH.flatMap(([, , rules]) => rules),
  ]);
  expect(RULES.filter((rule) => !cases.has(rule))).toEqual([]);
  expect(new Set(RULES).size).toBe(RULES.length);
});
