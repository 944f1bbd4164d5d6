import { describe, expect, test } from "vitest";
import { Fairlane, type FairlaneOptions } from "../../../src/client/fairlane.ts";

/** As a program in JavaScript calls it. */
const untyped = (value: unknown) => value as never;
const client = () => new Fairlane({ url: "http://127.0.0.1:1", tenant: "demo" });

describe("an option that does not exist", () => {
  test.each<[string, () => unknown]>([
    ["tokn", () => new Fairlane(untyped({ url: "http://127.0.0.1:1", tenant: "demo", tokn: "t" }))],
    ["concurency", () => client().consume("t", untyped({ group: "g", handler: () => {}, concurency: 5 }))],
    ["prefech", () => client().messages("t", untyped({ group: "g", prefech: 1 }))],
    // The loop is the handler.
    ["handler", () => client().messages("t", untyped({ group: "g", handler: () => {} }))],
  ])("%s is refused, and the others are named", async (name, call) => {
    await expect(async () => call()).rejects.toThrow(
      new RegExp(`^${name} is not an option of \\w+, which has `),
    );
  });
});

describe("what is no object", () => {
  test.each<[string, () => unknown]>([
    ["Fairlane needs an object of options: url, tenant", () => new Fairlane(untyped(undefined))],
    ["consume needs an object of options: group", () => client().consume("t", untyped(undefined))],
    ["messages needs an object of options: group", () => client().messages("t", untyped(null))],
    ["messages must be an array", () => client().publishBatch("t", untyped({}))],
    ["messages must be an array", () => client().publishBatch("t", untyped(undefined))],
  ])("%s", async (message, call) => {
    const failed = expect(async () => call()).rejects;
    await failed.toThrow(TypeError);
    await failed.toThrow(message);
  });
});

test("every option that there is may be given", () => {
  const all: Required<{ [Name in keyof FairlaneOptions]: FairlaneOptions[Name] }> = {
    url: "http://127.0.0.1:1",
    tenant: "demo",
    token: "t",
    fetch: async () => new Response(),
    requestTimeoutMs: 1,
    retryForMs: 0,
  };
  expect(() => new Fairlane(all)).not.toThrow();
});
