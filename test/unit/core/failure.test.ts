import { expect, test } from "vitest";
import { AssertionFailure, assert } from "../../../src/core/assert.ts";
import { FairlaneError, fail } from "../../../src/core/failure.ts";

test("an assertion passes on true and throws its message on false", () => {
  expect(() => assert(true, "never seen")).not.toThrow();
  expect(() => assert(false, "a lane has one owner")).toThrow(new AssertionFailure("a lane has one owner"));
});

test("an assertion is an error of the program, not a failure that is answered", () => {
  const failure = new AssertionFailure("x");
  expect(failure).toBeInstanceOf(Error);
  expect(failure).not.toBeInstanceOf(FairlaneError);
  expect(failure.name).toBe("AssertionFailure");
});

test("fail throws the failure as a plain value that survives a copy", () => {
  const issues = [{ path: "messages[3].partitionKey", message: "must not be empty" }];
  let thrown: unknown;
  try {
    fail("rate-limited", "too much", { retryAfterMs: 1000, issues });
  } catch (error) {
    thrown = error;
  }
  expect(thrown).toBeInstanceOf(FairlaneError);
  const { failure, message } = thrown as FairlaneError;
  expect(structuredClone(failure)).toEqual({
    code: "rate-limited",
    detail: "too much",
    retryAfterMs: 1000,
    issues,
  });
  expect(message).toBe("rate-limited: too much");
});

test("a failure without more has no empty fields", () => {
  expect(() => fail("not-found", "gone")).toThrow(FairlaneError);
  expect(Object.keys(new FairlaneError({ code: "not-found", detail: "gone" }).failure)).toEqual([
    "code",
    "detail",
  ]);
});
