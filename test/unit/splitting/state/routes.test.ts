import { describe, expect, test } from "vitest";
import type { Filter } from "../../../../src/splitting/filter/filter.ts";
import { step } from "../../../../src/splitting/state/phase-machine.ts";
import type { SplitEvent } from "../../../../src/splitting/state/split-event.ts";
import type { SplitState } from "../../../../src/splitting/state/split-state.ts";
import { ALICE, BOB, NOW_MS, next, REPORTS, refusal, report, reported, splitIn } from "./splits.ts";

const put = (route: string, filter: Filter, more: { queue?: string; ttlMs?: number } = {}): SplitEvent => {
  return { kind: "putRoute", route, queue: "orders", filter, ttlMs: 30_000, ...more };
};
const WIDER: Filter = { header: "x-dev", in: ["alice", "ally"] };
const carol: Filter = { header: "x-dev", equals: "carol" };
const named = (state: SplitState, name: string) => state.routes.find(({ route }) => route === name);

describe("putting a route", () => {
  test("the lowest free slot of its queue is taken", () => {
    const state = next(splitIn("Active"), put("carol", carol));
    expect(state.routes.map(({ route, slot }) => [route, slot])).toEqual([
      ["alice", 0],
      ["bob", 1],
      ["carol", 2],
    ]);
    const other = next(state, put("dave", ALICE, { queue: "audit" }));
    expect(named(other, "dave")).toMatchObject({ queue: "audit", slot: 0 });
  });

  test("a slot that is being drained is nobody's yet", () => {
    const ended = next(splitIn("Active"), { kind: "deleteRoute", route: "alice" });
    expect(named(next(ended, put("carol", carol)), "carol")?.slot).toBe(2);
    const drained = report(ended, { ...REPORTS.routeDrained, route: "alice" });
    expect(named(next(drained, put("carol", carol)), "carol")?.slot).toBe(0);
  });

  test("a queue has twenty, and another queue its own", () => {
    let state = splitIn("Active");
    for (let n = 2; n < 20; n++) state = next(state, put(`r${n}`, { header: "x-dev", equals: `${n}` }));
    expect(refusal(step(state, put("carol", carol), NOW_MS))).toMatch(/^limit: queue orders has 20/);
    expect(named(next(state, put("carol", carol, { queue: "audit" })), "carol")?.slot).toBe(0);
  });

  test("an overlap names the other route and a message of both", () => {
    const result = step(splitIn("Active"), put("carol", { header: "x-dev", prefix: "al" }), NOW_MS);
    expect(result).toMatchObject({
      kind: "refused",
      because: "overlap",
      route: "alice",
      witness: { headers: { "x-dev": "alice" } },
    });
  });

  test("one that has ended is no obstacle, and its own old filter neither", () => {
    const ended = next(splitIn("Active"), { kind: "deleteRoute", route: "alice" });
    expect(named(next(ended, put("carol", ALICE)), "carol")?.state).toBe("active");
    const drained = report(ended, { ...REPORTS.routeDrained, route: "alice" });
    expect(named(next(drained, put("alice", WIDER)), "alice")).toMatchObject({ filter: WIDER, slot: 0 });
  });

  test("another filter is taken while nothing was moved, and then refused: nothing is changed by it", () => {
    for (const phase of ["Preparing", "QuiescingApp"] as const) {
      const state = next(splitIn(phase), put("alice", WIDER));
      expect(named(state, "alice"), phase).toMatchObject({ filter: WIDER, slot: 0, state: "active" });
    }
    for (const phase of ["StartingPump", "RedirectingApp", "Active"] as const) {
      const state = splitIn(phase);
      expect(refusal(step(state, put("alice", WIDER), NOW_MS)), phase).toMatch(/^conflict.*other messages/);
      // Nor is it a way to renew it.
      expect(named(state, "alice")?.expiresAtMs).toBe(NOW_MS + 30_000);
      expect(named(next(state, put("alice", ALICE), NOW_MS + 1), "alice")?.expiresAtMs).toBe(NOW_MS + 30_001);
    }
  });

  test("a renewal moves the end and keeps the slot", () => {
    const state = next(splitIn("Active"), put("bob", BOB, { ttlMs: 5000 }), NOW_MS + 1000);
    expect(named(state, "bob")).toMatchObject({ slot: 1, ttlMs: 5000, expiresAtMs: NOW_MS + 6000 });
    expect(state.routes).toHaveLength(2);
  });

  test("what it cannot be", () => {
    const state = splitIn("Active");
    expect(refusal(step(state, put("carol", carol, { queue: "other" }), NOW_MS))).toMatch(/^not-found/);
    expect(refusal(step(state, put("alice", ALICE, { queue: "audit" }), NOW_MS))).toMatch(/^conflict/);
    const ended = next(state, { kind: "deleteRoute", route: "alice" });
    expect(refusal(step(ended, put("alice", ALICE), NOW_MS))).toMatch(/^conflict.*being emptied/);
    expect(refusal(step(splitIn("DrainingApp"), put("carol", carol), NOW_MS))).toMatch(/^phase/);
    expect(refusal(step(splitIn("Inactive"), put("carol", carol), NOW_MS))).toMatch(/^phase/);
  });

  test("while the split is held only renewals", () => {
    const held = report(splitIn("Active"), REPORTS.failed);
    expect(named(next(held, put("alice", ALICE), NOW_MS + 1), "alice")?.expiresAtMs).toBe(NOW_MS + 30_001);
    expect(refusal(step(held, put("carol", carol), NOW_MS))).toMatch(/^phase/);
    expect(refusal(step(held, put("alice", carol), NOW_MS))).toMatch(/^phase/);
  });
});

describe("the end of a route", () => {
  test("once messages may be in its shadow it drains, before that it is gone", () => {
    for (const [phase, left] of [
      ["Preparing", undefined],
      ["QuiescingApp", undefined],
      ["StartingPump", "draining"],
      ["RedirectingApp", "draining"],
      ["Active", "draining"],
    ] as const) {
      const state = next(splitIn(phase), { kind: "deleteRoute", route: "alice" });
      expect(named(state, "alice")?.state, phase).toBe(left);
    }
  });

  test("comes at its expiry, and not because an agent or a client is away", () => {
    const state = next(next(splitIn("Active"), put("bob", BOB, { ttlMs: 60_000 })), { kind: "agentLost" });
    const atMs = NOW_MS + 30_000;
    expect(refusal(step(state, { kind: "routesExpired" }, atMs - 1))).toMatch(/^stale/);
    const after = next(state, { kind: "routesExpired" }, atMs);
    expect(after.routes.map(({ route, state }) => [route, state])).toEqual([
      ["alice", "draining"],
      ["bob", "active"],
    ]);
    expect(refusal(step(after, { kind: "routesExpired" }, atMs))).toMatch(/^stale/);
  });

  test("is final only by a proof at its own queue", () => {
    const state = splitIn("Active");
    const drained = (queue: string, evidence: string) =>
      reported(ended, { kind: "routeDrained", route: "alice", proof: { queue, evidence } });
    const ended = next(state, { kind: "deleteRoute", route: "alice" });
    expect(
      refusal(step(state, reported(state, { ...REPORTS.routeDrained, route: "alice" }), NOW_MS)),
    ).toMatch(/^incomplete: route alice has not ended/);
    expect(refusal(step(ended, drained("audit", "seen"), NOW_MS))).toMatch(/^incomplete/);
    expect(refusal(step(ended, drained("orders", ""), NOW_MS))).toMatch(/^incomplete/);
    expect(named(next(ended, drained("orders", "seen")), "alice")).toBeUndefined();
    const unknown = reported(ended, { ...REPORTS.routeDrained, route: "nobody" });
    expect(refusal(step(ended, unknown, NOW_MS))).toMatch(/^not-found/);
  });

  test("a stop ends them all", () => {
    const stopped = next(splitIn("Active"), { kind: "stop" });
    expect(stopped.routes.map(({ state }) => state)).toEqual(["draining", "draining"]);
    expect(next(splitIn("Preparing"), { kind: "stop" }).routes).toEqual([]);
  });

  test("is said once: another time nothing changes, and of no route there is none", () => {
    const ended = next(splitIn("Active"), { kind: "deleteRoute", route: "alice" });
    expect(step(ended, { kind: "deleteRoute", route: "alice" }, NOW_MS)).toEqual({ kind: "unchanged" });
    expect(refusal(step(ended, { kind: "deleteRoute", route: "nobody" }, NOW_MS))).toMatch(/^not-found/);
  });
});
