import { expect, test } from "vitest";
import { HeadersBudget } from "../../src/core/headers-budget.ts";

const MAX_BYTES = 100;

test("a budget holds exactly its bytes", () => {
  const budget = new HeadersBudget(MAX_BYTES);
  expect(budget.takes(MAX_BYTES - 5, true)).toBe(true);
  expect(budget.isSpent).toBe(false);
  expect(budget.takes(5, false)).toBe(true);
  expect(budget.isSpent).toBe(true);
  expect(budget.takes(0, false)).toBe(false);
});

test("one that met what does not fit is spent, for smaller ones too", () => {
  const budget = new HeadersBudget(MAX_BYTES);
  expect(budget.takes(MAX_BYTES - 5, true)).toBe(true);
  expect(budget.takes(6, false)).toBe(false);
  expect(budget.takes(1, false)).toBe(false);
});

test("the first entry of a page is taken, whatever is left and however large it is", () => {
  const budget = new HeadersBudget(MAX_BYTES);
  expect(budget.takes(MAX_BYTES + 1, true)).toBe(true);
  expect(budget.isSpent).toBe(true);
  expect(budget.takes(10, true)).toBe(true);
  expect(budget.takes(10, false)).toBe(false);
});
