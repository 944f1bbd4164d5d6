import { evictDurableObject, runInDurableObject } from "cloudflare:test";
import { describe, expect, test } from "vitest";
import { AGENT_CLOSE } from "../../src/protocol/split-agent.ts";
import { AGENT_AWAY_MS, PHASE_DEADLINE_MS } from "../../src/splitting/state/deadlines.ts";
import { setup, TO_ACTIVE } from "./split-place.ts";

// The clock is the platform's: what is to be due is written into storage as if it had been decided long ago.

const HOUR_MS = 3_600_000;
const ALICE = {
  route: "alice",
  queue: "orders",
  filter: { header: "x-dev", equals: "alice" },
  ttlMs: HOUR_MS,
};

async function active(workload: string) {
  const place = setup(workload);
  await place.declare();
  await place.ok("startSplit", {});
  const one = await place.agent();
  await one.reportAll(TO_ACTIVE);
  return { ...place, one };
}

describe("deadlines", () => {
  test("are armed when a phase is entered, and hold it when they pass", async () => {
    const { declare, ok, alarmAtMs, alarm, overwrite, stored, evict } = setup("deadline");
    await declare();
    expect(await alarmAtMs()).toBeNull();
    const { deadlineAt } = await ok("startSplit", {});
    expect(await alarmAtMs()).toBe(deadlineAt);
    expect((deadlineAt ?? 0) - Date.now()).toBeGreaterThan((PHASE_DEADLINE_MS.Preparing ?? 0) - 10_000);
    // Early it does nothing but arm again.
    expect(await alarm()).toBe(true);
    expect(await stored()).toMatchObject({ phase: { name: "Preparing" } });
    expect(await alarmAtMs()).toBe(deadlineAt);
    await overwrite((document) => ({ ...document, deadlineAtMs: Date.now() - HOUR_MS }));
    await evict();
    expect(await alarm()).toBe(true);
    expect(await stored()).toMatchObject({
      phase: { name: "Degraded", resumePhase: "Preparing" },
      deadlineAtMs: null,
    });
    expect(await ok("getSplit", {})).toMatchObject({
      reason: "Overdue: Preparing was not done within 5 minutes",
    });
    expect(await alarmAtMs()).toBeNull();
    await ok("resumeSplit", {});
    expect(await alarmAtMs()).toBeGreaterThan(Date.now());
  });

  test("no phase ends by time, however often the alarm comes", async () => {
    const { alarm, overwrite, stored } = await active("no-progress");
    await overwrite((document) => ({ ...document, deadlineAtMs: Date.now() - 1 }));
    await alarm();
    const held = await stored();
    expect(held.phase).toMatchObject({ name: "Degraded", resumePhase: "Active" });
    for (let i = 0; i < 3; i++) await alarm();
    expect(await stored()).toEqual(held);
  });

  test("an alarm that got lost is armed again by the next call", async () => {
    const { declare, ok, stub, alarmAtMs } = setup("lost-alarm");
    await declare();
    const { deadlineAt } = await ok("startSplit", {});

    await runInDurableObject(stub(), (_, { storage }) => storage.deleteAlarm());
    await evictDurableObject(stub());
    expect(await alarmAtMs()).toBeNull();
    await ok("getSplit", {});
    expect(await alarmAtMs()).toBe(deadlineAt);
  });

  test("and by the next report of an agent", async () => {
    const { declare, ok, agent, stub, alarmAtMs, evict } = setup("lost-alarm-report");
    await declare();
    await ok("startSplit", {});
    const one = await agent();
    await runInDurableObject(stub(), (_, { storage }) => storage.deleteAlarm());
    await evict();
    await one.reportAll(TO_ACTIVE.slice(0, 1));
    expect(await alarmAtMs()).toBeGreaterThan(Date.now());
  });
});

describe("routes", () => {
  test("end at their expiry, and the agent hears of it", async () => {
    const { ok, alarm, overwrite, one, stored } = await active("expiry");
    await ok("putSplitRoute", ALICE);
    await ok("putSplitRoute", { ...ALICE, route: "bob", filter: { header: "x-dev", equals: "bob" } });
    await overwrite((document) => {
      const [alice, bob] = document.routes as object[];
      return { ...document, routes: [{ ...alice, expiresAtMs: Date.now() - 1 }, bob] };
    });
    await alarm();
    expect((await stored()).routes).toMatchObject([{ state: "draining" }, { state: "active" }]);
    await one.until(() => one.command.routes[0]?.state === "draining");
    const proof = { queue: "orders", evidence: "empty and unattended" };
    await one.reportAll([{ kind: "routeDrained", route: "alice", proof }]);
    expect(await ok("listSplitRoutes", {})).toMatchObject({ routes: [{ route: "bob" }] });
  });

  test("the alarm stands at the earliest of them", async () => {
    const { ok, alarmAtMs } = await active("earliest");
    const { expiresAt } = await ok("putSplitRoute", { ...ALICE, ttlMs: 5000 });
    expect(await alarmAtMs()).toBeLessThanOrEqual(expiresAt);
  });

  test("stay while the agent and the client are away, until their expiry", async () => {
    const { ok, alarm, lose } = await active("away");
    await ok("putSplitRoute", ALICE);
    await lose();
    for (let i = 0; i < 3; i++) await alarm();
    expect(await ok("getSplitRoute", { route: "alice" })).toMatchObject({ state: "active" });
  });
});

describe("an agent that is away", () => {
  test("by its closing: an active split gets a deadline, and the next agent takes it off", async () => {
    const { ok, one, agent, stored, alarmAtMs } = await active("closing");
    expect(await stored()).toMatchObject({ deadlineAtMs: null });
    one.close();
    await one.until(() => one.closed);
    const { deadlineAt, agent: shown } = await ok("getSplit", {});
    expect(shown).toMatchObject({ connected: false });
    expect((deadlineAt ?? 0) - Date.now()).toBeGreaterThan(AGENT_AWAY_MS - 10_000);
    expect(await alarmAtMs()).toBeLessThanOrEqual(deadlineAt ?? 0);
    await agent(one.epoch);
    expect(await ok("getSplit", {})).toMatchObject({ deadlineAt: null, agent: { connected: true } });
  });

  test("with its machine, where nobody says goodbye: the alarm sees it", async () => {
    const { overwrite, lose, alarm, ok, stored } = await active("machine");
    await lose();
    await overwrite((document) => ({ ...document, deadlineAtMs: null }));
    await alarm();
    const { deadlineAt } = await ok("getSplit", {});
    expect(deadlineAt).toBeGreaterThan(Date.now());
    await overwrite((document) => ({ ...document, deadlineAtMs: Date.now() - 1 }));
    await alarm();
    expect((await stored()).phase).toMatchObject({
      name: "Degraded",
      reason: "AgentAway: no queue agent was there for 5 minutes",
    });
  });

  test("by its silence: it is sent away, and may come back", async () => {
    const { one, stub, alarm, ok, agent } = await active("silence");

    await runInDurableObject(stub(), (_, state) => {
      for (const socket of state.getWebSockets()) {
        const memory = socket.deserializeAttachment() as object;
        socket.serializeAttachment({ ...memory, connectedAtMs: 0, heardAtMs: Date.now() - 61_000 });
      }
    });
    await alarm();
    expect(await one.until(() => one.closed)).toMatchObject({ code: AGENT_CLOSE.silent });
    expect(await ok("getSplit", {})).toMatchObject({
      agent: { connected: false },
      deadlineAt: expect.any(Number),
    });
    expect((await agent(one.epoch)).epoch).toBe(2);
  });

  test("a stranger without a hello is sent away after a while; a fresh one is not", async () => {
    const { declare, connect, stub, alarm } = setup("no-hello");
    await declare();
    const [old, fresh] = [await connect(), await connect()];

    await runInDurableObject(stub(), (_, state) => {
      const [first] = state.getWebSockets().toSorted((one, other) => at(one) - at(other));
      const memory = first?.deserializeAttachment() as object;
      first?.serializeAttachment({ ...memory, connectedAtMs: Date.now() - 31_000 });
    });
    await alarm();
    expect(await Promise.race([old, fresh].map((one) => one.until(() => one.closed)))).toMatchObject({
      code: AGENT_CLOSE.silent,
    });
    expect([old.closed, fresh.closed].filter((closed) => closed === null)).toHaveLength(1);
  });
});

function at(socket: WebSocket): number {
  return (socket.deserializeAttachment() as { connectedAtMs: number }).connectedAtMs;
}
