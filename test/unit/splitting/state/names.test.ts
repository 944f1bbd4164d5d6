import { describe, expect, test } from "vitest";
import { isLabel, type ResourceIdentity, resourceName } from "../../../../src/splitting/state/names.ts";
import { sha256Hex } from "../../../../src/splitting/state/sha256.ts";

const of = (more: Partial<ResourceIdentity> = {}): ResourceIdentity => ({
  prefix: "fairlane",
  kind: "route-shadow",
  tenant: "demo",
  workload: "checkout",
  queue: "orders",
  slot: 0,
  ...more,
});

describe("a resource's name", () => {
  test("is what it always was: changing it would orphan what brokers hold", () => {
    expect(resourceName(of())).toBe("fairlane-route-shadow-orders-9722092bbea80d173d95");
    expect(resourceName(of({ kind: "app-shadow", slot: null }))).toBe(
      "fairlane-app-shadow-orders-66aced2fcee38c2fe10a",
    );
  });

  test("shows its queue, cleaned and cut", () => {
    expect(resourceName(of({ queue: "Orders.EU_1" }))).toMatch(
      /^fairlane-route-shadow-orders-eu-1-[0-9a-f]{20}$/,
    );
    expect(resourceName(of({ queue: "---" }))).toMatch(/^fairlane-route-shadow-q-[0-9a-f]{20}$/);
    expect(resourceName(of({ queue: "🚚" }))).toMatch(/^fairlane-route-shadow-q-[0-9a-f]{20}$/);
    const long = resourceName(of({ prefix: "a".repeat(16), queue: `${"b".repeat(11)}-c` }));
    expect(long).toMatch(/^a{16}-route-shadow-b{11}-[0-9a-f]{20}$/);
  });

  test("differs by each part of the identity, also where the shown part is the same", () => {
    const names = [
      of(),
      of({ prefix: "fairlan", queue: "e-orders" }),
      of({ kind: "fence" }),
      of({ tenant: "acme" }),
      of({ workload: "billing" }),
      of({ queue: "Orders" }),
      of({ splitId: "one" }),
      of({ splitId: "" }),
      of({ slot: 1 }),
      of({ slot: null }),
      // Where one part ends and the next begins is part of it.
      of({ tenant: "demoche", workload: "ckout" }),
      of({ tenant: "demo,8:checkout", workload: "" }),
    ].map(resourceName);
    expect(new Set(names).size).toBe(names.length);
  });

  test("is not made of a prefix that is no label", () => {
    for (const prefix of ["", "-a", "a-", "A", "a.b", "a".repeat(17)]) {
      expect(() => resourceName(of({ prefix })), prefix).toThrow("no label");
    }
  });
});

test("labels are those of RFC 1123", () => {
  for (const good of ["a", "0", "a-b", "a--b", "a".repeat(63)]) expect(isLabel(good), good).toBe(true);
  for (const bad of ["", "-", "a-", "-a", "A", "a.b", "a_b", "é", "a\n", "a".repeat(64)]) {
    expect(isLabel(bad), bad).toBe(false);
  }
});

test("the digests of the standard's own examples", () => {
  const digest = (text: string) => sha256Hex(new TextEncoder().encode(text));
  expect(digest("")).toBe("e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  expect(digest("abc")).toBe("ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  expect(digest("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq")).toBe(
    "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1",
  );
});
