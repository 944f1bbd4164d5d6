import { expect, test } from "vitest";
import { Faults } from "../../../src/gateway/faults.ts";

test("the first rule that fits is met, and only that", () => {
  const faults = new Faults();
  const first = faults.add({ kind: "refuse", tenant: "acme" });
  const second = faults.add({ kind: "drop" });
  expect(faults.take("SELECT 1 WHERE tenant = 'acme'")?.kind).toBe("refuse");
  expect(faults.take("SELECT 1 WHERE tenant = 'globex'")?.kind).toBe("drop");
  expect([first.hits, second.hits]).toEqual([1, 1]);
});

test("a tenant is met as a literal only", () => {
  const faults = new Faults();
  faults.add({ kind: "drop", tenant: "acme" });
  expect(faults.take("SELECT 'acme2', acme, \"acme\", '\\'acme\\''")).toBeNull();
});

test("tenant and pattern must both fit", () => {
  const faults = new Faults();
  faults.add({ kind: "drop", tenant: "acme", matching: /^INSERT/i });
  expect(faults.take("SELECT 'acme'")).toBeNull();
  expect(faults.take("INSERT INTO t VALUES ('globex')")).toBeNull();
  expect(faults.take("insert into t values ('acme')")?.kind).toBe("drop");
});

test("a rule is spent after so many times, then the next one counts", () => {
  const faults = new Faults();
  const placed = faults.add({ kind: "drop", times: 2 });
  faults.add({ kind: "refuse" });
  expect([1, 2, 3, 4].map(() => faults.take("x")?.kind)).toEqual(["drop", "drop", "refuse", "refuse"]);
  expect(placed.hits).toBe(2);
});

test("rules go one by one or all at once", () => {
  const faults = new Faults();
  const placed = faults.add({ kind: "drop" });
  faults.add({ kind: "refuse" });
  placed.remove();
  placed.remove();
  expect(faults.take("x")?.kind).toBe("refuse");
  faults.clear();
  expect(faults.take("x")).toBeNull();
});

test("a pattern that remembers where it was is refused", () => {
  expect(() => new Faults().add({ kind: "drop", matching: /x/g })).toThrow(TypeError);
});
