import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { messageId } from "../../src/client/fairlane.ts";
import { keyProblem } from "../../src/core/names.ts";
import { holds } from "./replay.ts";

/** Parts of few characters, among them those that are escaped, so that two lists are often nearly alike. */
const unit = fc.constantFrom("a", "b", "/", "%", "2", "F", "f", "0", " ", "\0", "é", "🚚", "%2F", "%sha256-");
const part = fc.oneof(
  fc.string({ unit, minLength: 1, maxLength: 4 }),
  fc.string({ unit, minLength: 1, maxLength: 300, size: "max" }),
);
const parts = fc.array(part, { minLength: 1, maxLength: 4 });
const idOf = ([entity = "", ...causes]: readonly string[]) => messageId(entity, ...causes);

describe("messageId", () => {
  test("reads as its parts do", async () => {
    expect(await messageId("order-1", "created")).toBe("order-1/created");
    expect(await messageId("order-1", "item 2", "added")).toBe("order-1/item 2/added");
    expect(await messageId("50%", "a/b", "x ")).toBe("50%25/a%2Fb/x%20");
  });

  test("is always an ID that can be published, and the same for the same parts", async () => {
    for (const given of cases()) {
      const id = await idOf(given);
      expect(keyProblem(id), JSON.stringify(given)).toBeNull();
      expect(await idOf([...given])).toBe(id);
    }
  });

  test("is never the same for different parts", async () => {
    const seen = new Map<string, string>();
    for (const given of cases()) {
      const id = await idOf(given);
      const asText = JSON.stringify(given);
      expect(seen.get(id) ?? asText).toBe(asText);
      seen.set(id, asText);
    }
    // Short ones and such as are cut.
    expect([...seen.keys()].filter((id) => id.includes("%sha256-")).length).toBeGreaterThan(50);
    expect([...seen.keys()].filter((id) => !id.includes("%sha256-")).length).toBeGreaterThan(50);
  });

  test("the same text cut up differently is not the same", async () => {
    const ids = [
      ["a/b"],
      ["a", "b"],
      ["a%2Fb"],
      ["a%2F", "b"],
      ["a ", "b"],
      ["a%20", "b"],
      ["a", "b "],
      ["a", "b%20"],
    ];
    expect(new Set(await Promise.all(ids.map(idOf))).size).toBe(ids.length);
  });

  test("of 255 characters is kept, and of one more starts the same and ends with a hash", async () => {
    const longest = "é".repeat(250);
    expect(await messageId(longest, "abcd")).toBe(`${longest}/abcd`);
    const id = await messageId(longest, "abcde");
    expect([...id]).toHaveLength(255);
    expect(id).toMatch(/^é{183}%sha256-[0-9a-f]{64}$/);
    expect(await messageId(longest, "abcdf")).not.toBe(id);
    // As another program would compute it.
    const hash = await crypto.subtle.digest("SHA-256", new TextEncoder().encode(`${longest}/abcde`));
    expect(id.slice(-64)).toBe(Buffer.from(hash).toString("hex"));
  });

  test.each([
    ["empty", [""]],
    ["an empty cause", ["a", ""]],
    ["a lone surrogate", ["a", "\ud800"]],
    ["no string", ["a", 1 as unknown as string]],
    ["nothing", [undefined as unknown as string]],
  ])("refuses %s", async (_, given) => {
    await expect(messageId(...(given as [string, ...string[]]))).rejects.toThrow(TypeError);
  });
});

/** The cases that a property would be asked: hashing is asynchronous, and a property is not. */
function cases(): string[][] {
  const made: string[][] = [];
  holds(
    fc.property(parts, (given) => {
      made.push(given);
    }),
    1000,
  );
  expect(made.length).toBeGreaterThanOrEqual(1000);
  return made;
}
