import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { overridePatch, type PatchOperation } from "../../../../src/splitting/config/patch.ts";
import { holds } from "../../../property/replay.ts";
import { applyJsonPatch } from "./apply-json-patch.ts";
import { validated } from "./manifest.ts";
import { type Deployment, deployment, type EnvEntry, overriddenOf, scene } from "./patch-source.ts";

const shadowOf = (queue: string) => `shadow-of-${queue}`;

function patchesOf(original: Deployment, generation = 7) {
  const { workloads, issues } = validated({ manifests: [JSON.stringify(original)] });
  expect(issues).toEqual([]);
  const [workload] = workloads;
  if (!workload) throw new Error("no workload");
  return overridePatch(workload, { generation, shadowOf });
}

/** As the application sees it. */
function effective(env: readonly EnvEntry[], name: string): string | undefined {
  return env.findLast((entry) => entry.name === name)?.value;
}

describe("the override patch", () => {
  test("points every queue at its shadow, and changes nothing else", () => {
    holds(
      fc.property(scene, (parts) => {
        const original = deployment(parts);
        const { patch, overrides } = patchesOf(original);
        const patched = applyJsonPatch(original, patch) as Deployment;
        expect(overrides.map(({ variable }) => variable).sort()).toEqual(overriddenOf(parts).sort());
        const { template } = patched.spec;
        expect(template.metadata.annotations?.["fairlane.dev/override-generation"]).toBe("7");
        for (const [index, container] of original.spec.template.spec.containers.entries()) {
          const names = new Set(
            overrides.filter((one) => one.container === container.name).map((one) => one.variable),
          );
          const env = template.spec.containers[index]?.env ?? [];
          for (const { queue, variable, container: of } of overrides) {
            if (of === container.name) expect(effective(env, variable)).toBe(shadowOf(queue));
          }
          const others = (entries: readonly EnvEntry[]) => entries.filter(({ name }) => !names.has(name));
          expect(others(env)).toEqual(others(container.env ?? []));
        }
        expect({ ...patched, spec: 0 }).toEqual({ ...original, spec: 0 });
      }),
      120,
    );
  });

  test("and then its inverse give the manifest back exactly", () => {
    holds(
      fc.property(scene, (parts) => {
        const original = deployment(parts);
        const { patch, inverse } = patchesOf(original);
        const patched = applyJsonPatch(original, patch);
        expect(patched).not.toEqual(original);
        expect(applyJsonPatch(patched, inverse)).toStrictEqual(original);
      }),
      120,
    );
  });

  test("lets everything else change meanwhile", () => {
    const original = deployment({ podAnnotations: {} });
    const { patch, inverse } = patchesOf(original);
    const rolled = { ...original, spec: { ...original.spec, replicas: 5 } };
    const patched = applyJsonPatch(rolled, patch) as Deployment;
    const [container] = patched.spec.template.spec.containers;
    (container as { image?: string }).image = "worker:2";
    patched.spec.template.metadata.annotations = {
      ...patched.spec.template.metadata.annotations,
      "kubectl.kubernetes.io/restartedAt": "now",
    };
    const back = applyJsonPatch(patched, inverse) as Deployment;
    expect(back.spec.replicas).toBe(5);
    expect(back.spec.template.spec.containers[0]).toEqual({
      ...original.spec.template.spec.containers[0],
      image: "worker:2",
    });
  });

  test("takes no annotations away that came meanwhile: where none were, the inverse refuses", () => {
    const { patch, inverse } = patchesOf(deployment({}));
    const patched = applyJsonPatch(deployment({}), patch) as Deployment;
    Object.assign(patched.spec.template.metadata.annotations ?? {}, { "example.com/mine": "1" });
    expectRefused(patched, inverse);
  });

  test("is made of a valid workload only", () => {
    const { workloads } = validated({ manifests: [JSON.stringify({ ...deployment({}), spec: {} })] });
    expect(workloads).toHaveLength(1);
    for (const workload of workloads)
      expect(() => overridePatch(workload, { generation: 1, shadowOf })).toThrow("valid");
  });
});

const CHANGES: readonly (readonly [what: string, change: (one: Deployment) => void])[] = [
  ["another kind", (one) => Object.assign(one, { kind: "StatefulSet" })],
  ["another name", (one) => Object.assign(one.metadata, { name: "other" })],
  ["the source's value", (one) => Object.assign(envOf(one)[0] ?? {}, { value: "other" })],
  ["a variable in front", (one) => envOf(one).unshift({ name: "NEW", value: "x" })],
  [
    "a variable behind, perhaps of the same name",
    (one) => envOf(one).push({ name: "ORDERS_QUEUE", value: "x" }),
  ],
  ["a variable less", (one) => envOf(one).pop()],
  ["a container in front", (one) => one.spec.template.spec.containers.unshift({ name: "proxy" })],
  ["another order of variables", (one) => envOf(one).reverse()],
  [
    "annotations of the pods",
    (one) => Object.assign(one.spec.template.metadata, { annotations: { a: "b" } }),
  ],
  ["no annotations of the pods", (one) => delete one.spec.template.metadata.annotations],
];

describe("a manifest that changed after the patch was made refuses it", () => {
  test.each(CHANGES)("%s", (_what, change) => {
    let refusals = 0;
    for (const podAnnotations of [undefined, {}, { "example.com/a": "1" }]) {
      for (const overrideEnv of [undefined, "SHADOW"]) {
        const original = deployment({
          podAnnotations,
          queues: [{ name: "orders", env: "ORDERS_QUEUE", overrideEnv }],
        });
        const changed = structuredClone(original);
        change(changed);
        if (JSON.stringify(changed) === JSON.stringify(original)) continue;
        expectRefused(changed, patchesOf(original).patch);
        refusals += 1;
      }
    }
    expect(refusals).toBeGreaterThan(1);
  });

  test("and one that was not patched, was patched otherwise, or was changed at the override refuses the inverse", () => {
    holds(
      fc.property(scene, (parts) => {
        const original = deployment(parts);
        const { patch, inverse } = patchesOf(original);
        expectRefused(original, inverse);
        expectRefused(applyJsonPatch(original, patchesOf(original, 8).patch), inverse);
        const patched = applyJsonPatch(original, patch) as Deployment;
        expectRefused(patched, patch);
        for (const { container, variable } of patchesOf(original).overrides) {
          const changed = structuredClone(patched);
          const own = changed.spec.template.spec.containers.find(({ name }) => name === container);
          Object.assign(own?.env?.findLast(({ name }) => name === variable) ?? {}, { value: "mine" });
          expectRefused(changed, inverse);
        }
      }),
      50,
    );
  });
});

function expectRefused(document: unknown, patch: readonly PatchOperation[]): void {
  const before = JSON.stringify(document);
  expect(() => applyJsonPatch(document, patch)).toThrow();
  expect(JSON.stringify(document)).toBe(before);
}

function envOf(one: Deployment): EnvEntry[] {
  return one.spec.template.spec.containers[0]?.env ?? [];
}

describe("the patches of these tests are applied as RFC 6902 says", () => {
  test.each<[unknown, PatchOperation[], unknown]>([
    [{ a: [1] }, [{ op: "add", path: "/a/0", value: 0 }], { a: [0, 1] }],
    [{ a: [1] }, [{ op: "add", path: "/a/-", value: 2 }], { a: [1, 2] }],
    [{ a: 1 }, [{ op: "add", path: "/a", value: 2 }], { a: 2 }],
    [{ "a/b~c": 1 }, [{ op: "remove", path: "/a~1b~0c" }], {}],
    [{ a: [1, 2] }, [{ op: "replace", path: "/a/1", value: 3 }], { a: [1, 3] }],
    [{ a: { b: null } }, [{ op: "test", path: "/a", value: { b: null } }], { a: { b: null } }],
  ])("%j %j", (document, patch, result) => {
    expect(applyJsonPatch(document, patch)).toStrictEqual(result);
  });

  test.each<[unknown, PatchOperation[]]>([
    [{ a: [1] }, [{ op: "add", path: "/a/2", value: 0 }]],
    [{ a: [1] }, [{ op: "replace", path: "/a/1", value: 0 }]],
    [{ a: [1] }, [{ op: "test", path: "/a/-", value: 0 }]],
    [{ a: null }, [{ op: "add", path: "/a/b", value: 0 }]],
    [{}, [{ op: "remove", path: "/a" }]],
    [{}, [{ op: "test", path: "/a", value: null }]],
    [{ a: "1" }, [{ op: "test", path: "/a", value: 1 }]],
  ])("%j refuses %j", (document, patch) => expectRefused(document, patch));
});
