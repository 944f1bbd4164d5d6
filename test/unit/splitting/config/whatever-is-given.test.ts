import fc from "fast-check";
import { expect, test } from "vitest";
import { overridePatch } from "../../../../src/splitting/config/patch.ts";
import type { Validation } from "../../../../src/splitting/config/validate.ts";
import { holds } from "../../../property/replay.ts";
import { applyJsonPatch } from "./apply-json-patch.ts";
import { manifest, validated } from "./manifest.ts";
import { deployment, scene } from "./patch-source.ts";

/** Either something is told, or there is a patch that can be taken back. */
function expectVerdict({ issues, workloads }: Validation, original?: unknown): void {
  if (issues.length > 0) {
    for (const { rule, message, file } of issues) expect([rule, message, file]).not.toContain("");
    return;
  }
  expect(workloads.length).toBeGreaterThan(0);
  for (const workload of workloads) {
    const { patch, inverse } = overridePatch(workload, { generation: 1, shadowOf: (queue) => queue });
    if (original === undefined) continue;
    expect(applyJsonPatch(applyJsonPatch(original, patch), inverse)).toEqual(original);
  }
}

/** Every place in a document: a path of keys. */
function* places(value: unknown, path: readonly string[] = []): Generator<readonly string[]> {
  yield path;
  if (typeof value !== "object" || value === null) return;
  for (const [key, one] of Object.entries(value)) yield* places(one, [...path, key]);
}

/** What stands at a place, replaced. */
function replaced(document: unknown, path: readonly string[], value: unknown): unknown {
  if (path.length === 0) return value;
  const copy = structuredClone(document) as Record<string, unknown>;
  let within = copy;
  for (const key of path.slice(0, -1)) within = within[key] as Record<string, unknown>;
  within[path.at(-1) as string] = value;
  return copy;
}

const anything = fc.oneof(
  fc.constantFrom(
    null,
    true,
    0,
    "",
    "worker",
    "$(A)",
    [],
    {},
    [null],
    [[]],
    { name: "worker" },
    { name: 1 },
    [{ name: "Q0" }],
  ),
  fc.jsonValue({ maxDepth: 3 }),
);

test("whatever stands at one place of a manifest, there is a verdict", () => {
  holds(
    fc.property(scene, fc.nat(), anything, (parts, at, value) => {
      const original = deployment(parts);
      const all = [...places(original)];
      const changed = replaced(original, all[at % all.length] ?? [], value);
      expectVerdict(validated({ manifests: [JSON.stringify(changed)] }), changed);
    }),
    150,
  );
});

test("whatever stands at one place of a configuration, there is a verdict", () => {
  holds(
    fc.property(scene, fc.nat(), anything, (parts, at, value) => {
      const original = deployment(parts);
      const config = JSON.parse(
        original.metadata.annotations["fairlane.dev/queue-config"] as string,
      ) as unknown;
      const all = [...places(config)];
      original.metadata.annotations = {};
      const changed = JSON.stringify(replaced(config, all[at % all.length] ?? [], value));
      expectVerdict(validated({ manifests: [JSON.stringify(original)], config: changed }), original);
    }),
    150,
  );
});

test("whatever is cut out of a text or put in, there is a verdict", () => {
  const text = manifest();
  const bit = fc.oneof(
    fc.constantFrom("\t", ":", "- ", "&a ", "*a", "[", "}", '"', "|\n", "\n", "---\n", "<<: ", "!t "),
    fc.string(),
  );
  holds(
    fc.property(fc.nat(text.length), fc.nat(12), bit, (at, cut, put) => {
      expectVerdict(validated({ manifests: [text.slice(0, at) + put + text.slice(at + cut)] }));
    }),
    150,
  );
});
