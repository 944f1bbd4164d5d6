import { evictDurableObject } from "cloudflare:test";
import { describe, expect, test } from "vitest";
import { env } from "./worker.ts";

const INTERVAL_MS = 600_000;
const NOW_MS = 1_800_000_000_000;
const TENANTS = ["a", "b", "c"];
let registries = 0;

/** A registry of its own for each test. */
function setup() {
  const registry = env.GC_REGISTRY.getByName(`test-${registries++}`);
  const due = (nowMs: number, tenants = TENANTS, max = 200) => registry.due(tenants, nowMs, INTERVAL_MS, max);
  return { registry, due };
}

describe("the registry of collection runs", () => {
  test("an empty one has all due", async () => {
    const { due } = setup();
    expect(await due(NOW_MS)).toEqual(TENANTS);
    expect(await due(NOW_MS, TENANTS, 2)).toEqual(["a", "b"]);
  });

  test("a try, good or bad, makes its tenant wait for the interval", async () => {
    const { registry, due } = setup();
    await registry.tried("a", NOW_MS, { idle: false, activity: 1 });
    await registry.tried("b", NOW_MS + 1, null);
    expect(await due(NOW_MS + 2)).toEqual(["c"]);
    expect(await due(NOW_MS + INTERVAL_MS)).toEqual(["c", "a"]);
    expect(await due(NOW_MS + INTERVAL_MS + 1)).toEqual(["c", "a", "b"]);
  });

  test("an idle tenant is skipped until it announces itself", async () => {
    const { registry, due } = setup();
    await registry.tried("a", NOW_MS, { idle: true, activity: 4 });
    expect(await due(NOW_MS + INTERVAL_MS)).toEqual(["b", "c"]);
    await registry.markActive("a", 5);
    expect(await due(NOW_MS + INTERVAL_MS)).toEqual(["b", "c", "a"]);
  });

  test("an idle answer that was overtaken by an announcement loses; a late announcement of old news does too", async () => {
    const { registry, due } = setup();
    await registry.markActive("a", 5);
    await registry.tried("a", NOW_MS, { idle: true, activity: 4 });
    await registry.tried("b", NOW_MS, { idle: true, activity: 4 });
    await registry.markActive("b", 4);
    await registry.markActive("b", 3);
    expect(await due(NOW_MS + INTERVAL_MS)).toEqual(["c", "a"]);
  });

  test("a tenant that fails or has work again is not idle any more", async () => {
    const { registry, due } = setup();
    await registry.tried("a", NOW_MS, { idle: true, activity: 4 });
    await registry.tried("a", NOW_MS, null);
    expect(await due(NOW_MS + INTERVAL_MS)).toContain("a");
  });

  test("survives an eviction", async () => {
    const { registry, due } = setup();
    await registry.tried("a", NOW_MS, { idle: true, activity: 4 });
    await registry.tried("b", NOW_MS, null);
    await evictDurableObject(registry);
    expect(await due(NOW_MS + 1)).toEqual(["c"]);
  });

  test("forgets tenants that are no longer configured", async () => {
    const { registry, due } = setup();
    await registry.tried("a", NOW_MS, null);
    expect(await due(NOW_MS, ["b"])).toEqual(["b"]);
    expect(await due(NOW_MS + 1)).toEqual(TENANTS);
  });
});
