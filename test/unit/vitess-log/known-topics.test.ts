import { expect, test } from "vitest";
import { KnownTopics } from "../../../src/log/vitess/known-topics.ts";

test("topics are known by tenant", () => {
  const known = new KnownTopics();
  known.add("acme", "orders");
  expect(known.has("acme", "orders")).toBe(true);
  expect(known.has("globex", "orders")).toBe(false);
  expect(known.has("acme", "order")).toBe(false);
});

test("the least recently used is forgotten when there are too many", () => {
  const known = new KnownTopics();
  for (let made = 0; made < 10_000; made++) known.add("acme", `t${made}`);
  expect(known.has("acme", "t0")).toBe(true);
  known.add("acme", "one-more");
  expect(known.has("acme", "t0")).toBe(true);
  expect(known.has("acme", "t1")).toBe(false);
  expect(known.has("acme", "one-more")).toBe(true);
});
