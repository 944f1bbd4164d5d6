import { createHash } from "node:crypto";
import fc from "fast-check";
import { expect, test } from "vitest";
import { isLabel, type ResourceIdentity, resourceName } from "../../src/splitting/state/names.ts";
import { sha256Hex } from "../../src/splitting/state/sha256.ts";
import { holds } from "./replay.ts";

const label = fc.stringMatching(/^[a-z0-9]([a-z0-9-]{0,14}[a-z0-9])?$/).filter((text) => isLabel(text, 16));
const name = fc.string({ unit: "grapheme", maxLength: 80 });
const identity: fc.Arbitrary<ResourceIdentity> = fc.record(
  {
    prefix: label,
    kind: fc.constantFrom("app-shadow", "route-shadow", "fence", "checkpoint"),
    tenant: name,
    workload: name,
    queue: fc.oneof(name, label),
    splitId: name,
    slot: fc.option(fc.integer({ min: 0, max: 19 })),
  },
  { requiredKeys: ["prefix", "kind", "tenant", "workload", "queue", "slot"] },
);

test("a name is a label by RFC 1123, begins as it should, and is the same each time", () => {
  holds(
    fc.property(identity, (one) => {
      const made = resourceName(one);
      expect(isLabel(made), made).toBe(true);
      expect(made.startsWith(`${one.prefix}-${one.kind}-`)).toBe(true);
      expect(resourceName(structuredClone(one))).toBe(made);
    }),
    1000,
  );
});

test("two identities have two names", () => {
  const parts = ({ prefix, kind, tenant, workload, queue, splitId, slot }: ResourceIdentity) =>
    JSON.stringify([prefix, kind, tenant, workload, queue, splitId ?? null, slot]);
  const seen = new Map<string, string>();
  holds(
    fc.property(identity, (one) => {
      const made = resourceName(one);
      expect(seen.get(made) ?? parts(one)).toBe(parts(one));
      seen.set(made, parts(one));
    }),
    1000,
  );
});

test("parts that only move a border between them make another name", () => {
  const chars = fc.stringMatching(/^[a-c0-9:,-]{2,8}$/);
  holds(
    fc.property(chars, fc.nat(), fc.nat(), (text, one, other) => {
      const cutAt = (at: number) => {
        const border = at % (text.length + 1);
        const [tenant, workload] = [text.slice(0, border), text.slice(border)];
        return resourceName({ prefix: "f", kind: "fence", tenant, workload, queue: "q", slot: null });
      };
      const areSame = one % (text.length + 1) === other % (text.length + 1);
      expect(cutAt(one) === cutAt(other)).toBe(areSame);
    }),
    1000,
  );
});

test("the digest is that of the platform, at every length around a block's end", () => {
  holds(
    fc.property(fc.uint8Array({ maxLength: 300 }), (bytes) => {
      expect(sha256Hex(bytes)).toBe(createHash("sha256").update(bytes).digest("hex"));
    }),
    500,
  );
  for (let length = 0; length <= 130; length++) {
    const bytes = new Uint8Array(length).fill(length);
    expect(sha256Hex(bytes), `${length} bytes`).toBe(createHash("sha256").update(bytes).digest("hex"));
  }
});
