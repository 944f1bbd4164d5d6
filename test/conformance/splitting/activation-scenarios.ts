import { expect } from "vitest";
import { routeOf } from "./samples.ts";
import { expectFailure } from "./scene.ts";
import type { Scenario } from "./splitting-suite.ts";
import { APPLICATION } from "./workload.ts";

/** Steps of an abort that every provider has, with messages in two shadows. */
const ABORT_CRASHES = (["before", "after"] as const).flatMap((when) => [
  { step: "persist" as const, when, nth: 1 },
  { step: "settle-shadow" as const, when, nth: 2 },
  { step: "settle-shadow" as const, when, nth: 5 },
  { step: "delete-shadow" as const, when, nth: 2 },
]);

function crashName({ step, when, nth }: (typeof ABORT_CRASHES)[number]): string {
  return `${when} ${step} ${nth}`;
}

const EARLY_PHASES = ["Preparing", "QuiescingApp", "StartingPump", "RedirectingApp"] as const;

export const activationScenarios: readonly Scenario[] = [
  {
    number: 1,
    title: "prepare, then restart: nothing is consumed",
    over: true,
    async run(scene) {
      const { life, probe } = scene;
      const ids = await scene.publish("carol", "alice", "bob");
      const position = await probe.applicationPosition();
      life.agent.host.crashAt("create-shadow", "after");
      await life.to("QuiescingApp");
      expect(life.restarts).toBe(1);
      await life.restart();
      await probe.settleDown();
      expect(await scene.idsWaiting("source")).toEqual(ids);
      expect(await scene.idsEverIn("application")).toEqual([]);
      expect(await probe.applicationPosition()).toBe(position);
      // Prepared again it is as it was, and the agent that left has left nothing but that.
      expect(await life.engine.prepare()).toBe(life.state.sources[0]?.checkpoint);
      await life.engine.close();
      await life.engine.close();
      await life.restart();
      await scene.finish();
    },
  },
  {
    number: 2,
    title: "activation starts exactly at the application's position",
    over: true,
    variants: ["with nothing under way", "with a delivery that the application had not settled"],
    async run(scene, variant) {
      const { life } = scene;
      await life.workload.move("source");
      await scene.untilHandled(await scene.publish("carol", "alice", "bob"));
      await life.workload.move("away");
      const rest = await scene.publish("alice", "carol", "dave");
      if (variant.includes("not settled")) {
        await life.workload.move("source", { hold: 2 });
        await life.until("it holds two", () => life.workload.held().length === 2);
      }
      await life.to("Active");
      await scene.untilHandled(rest);
      expect(await scene.idsEverIn("application")).toEqual(rest);
      await scene.finish();
    },
  },
  {
    number: 3,
    title: "a late application consumer misses nothing",
    over: true,
    async run(scene) {
      const { life, probe } = scene;
      await life.to("RedirectingApp");
      const ids = await scene.publish("carol", "alice", "bob", "dave", "erin");
      await scene.untilIn("application", ids.length);
      await probe.settleDown();
      await life.to("Active");
      await scene.untilHandled(ids);
      expect(scene.handledBy(APPLICATION)).toEqual(ids);
      await scene.finish();
    },
  },
  {
    number: 20,
    title: "a foreign consumer before the start is refused",
    over: true,
    async run(scene) {
      const { life, probe } = scene;
      await life.to("StartingPump");
      const stranger = await probe.attach("stranger", "source", { hold: 1 });
      const ids = await scene.publish("carol", "alice");
      await scene.untilHeld(stranger, 1);
      await expectFailure(life.engine.start({ routes: [] }), "OwnershipViolated");
      await probe.settleDown();
      expect(await scene.idsEverIn("application")).toEqual([]);
      expect(await scene.idsWaiting("source")).toEqual(ids);
      await stranger.detach();
      await life.to("Active");
      await scene.untilHandled(ids);
      await scene.finish();
    },
  },
  {
    number: 24,
    title: "abort from an early phase",
    over: true,
    variants: [...EARLY_PHASES, "RedirectingApp, with the application on its shadow"],
    async run(scene, variant) {
      const { life, probe } = scene;
      const phase = EARLY_PHASES.find((each) => variant.startsWith(each)) ?? "Preparing";
      await life.workload.move("source");
      const first = await scene.publish("carol", "alice");
      await scene.untilHandled(first);
      if (phase === "Preparing") await life.engine.prepare();
      await life.to(phase);
      const later = await scene.publish("bob", "carol", "alice");
      if (phase === "RedirectingApp") await scene.untilIn("application", later.length);
      if (variant.includes("on its shadow")) {
        await life.workload.move("application");
        await scene.untilHandled(later.slice(0, 1));
      }
      life.stop();
      await scene.finish();
      await scene.untilHandled(later);
      expect(scene.handledBy(APPLICATION).sort()).toEqual([...first, ...later].sort());
      expect(probe.journal.phases()).not.toContain("Active");
    },
  },
  {
    number: 25,
    title: "a crash in the middle of an abort",
    over: true,
    variants: ABORT_CRASHES.map(crashName),
    async run(scene, variant) {
      const { life } = scene;
      const crash = ABORT_CRASHES.find((each) => crashName(each) === variant);
      if (!crash) throw new Error(`there is no ${variant}`);
      life.putRoute(routeOf("alice"));
      const ids = await scene.publish("carol", "alice", "bob", "carol", "alice");
      await life.to("RedirectingApp");
      await scene.untilIn("application", 3);
      await scene.untilIn(0, 2);
      life.stop();
      life.agent.host.crashAt(crash.step, crash.when, crash.nth);
      await scene.finish();
      await scene.untilHandled(ids);
      expect(life.restarts).toBe(1);
    },
  },
  {
    number: 27,
    title: "a policy that would hit a shadow",
    over: true,
    variants: [
      "is refused by preflight",
      "added later, it degrades the split",
      "added later, on a route's shadow",
    ],
    async run(scene, variant) {
      const { life, probe } = scene;
      const { nameOf } = probe.names;
      const shadow = variant.includes("route") ? nameOf("route-shadow", 0) : nameOf("app-shadow", null);
      if (variant.includes("preflight")) {
        expect(await life.engine.preflight()).toEqual({ kind: "ready" });
        const remove = await probe.addPolicy(shadow);
        const refused = await life.engine.preflight();
        expect(refused).toMatchObject({ kind: "refused", failures: [{ kind: "ShadowUnsafe" }] });
        expect(await probe.exists()).toEqual(scene.users);
        await remove();
        return scene.finish();
      }
      await life.to("Active");
      await life.startRoute(routeOf("alice"));
      await scene.untilHandled(await scene.publish("carol", "alice"));
      const remove = await probe.addPolicy(shadow);
      await life.until("the pump stands", () => life.agent.stoppedBy?.kind === "ShadowUnsafe");
      expect(await life.engine.health()).toMatchObject({ pump: "failed", failure: { kind: "ShadowUnsafe" } });
      const ids = await scene.publish("alice", "carol");
      await probe.settleDown();
      expect(await scene.idsWaiting("source")).toEqual(ids);
      await remove();
      await life.restart();
      await scene.untilHandled(ids);
      await scene.finish();
    },
  },
];
