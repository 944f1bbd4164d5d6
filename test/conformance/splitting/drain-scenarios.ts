import { expect } from "vitest";
import { messageOf, routeOf } from "./samples.ts";
import { expectFailure, type Scene, watch } from "./scene.ts";
import type { Scenario } from "./splitting-suite.ts";
import { APPLICATION } from "./workload.ts";

const RESIDUE = 60;
const never = () => new AbortController().signal;

async function activeWithResidue(scene: Scene, count: number): Promise<string[]> {
  const { life } = scene;
  await life.to("RedirectingApp");
  const ids = await scene.publish(...Array<string>(count).fill("carol"));
  await scene.untilIn("application", count);
  return ids;
}

export const drainScenarios: readonly Scenario[] = [
  {
    number: 12,
    title: "a residue much larger than a fetch drains whole before anything is deleted",
    over: true,
    async run(scene) {
      const { life } = scene;
      await activeWithResidue(scene, RESIDUE);
      await life.to("Active");
      await life.workload.move("away");
      await life.startRoute(routeOf("alice"), { attach: false });
      await scene.publish(...Array<string>(RESIDUE).fill("alice"));
      await scene.untilIn(0, RESIDUE);
      await life.to("CleaningUp");
      expect(scene.handledBy(APPLICATION)).toHaveLength(2 * RESIDUE);
      await scene.finish();
    },
  },
  {
    number: 13,
    title: "draining waits while the consumer is attached",
    over: true,
    async run(scene) {
      const { life, probe } = scene;
      await life.to("Active");
      await scene.untilHandled(await scene.publish("carol"));
      await life.stopPump();
      const drain = watch(life.engine.drainApplication(never()));
      await probe.settleDown();
      expect(drain.done).toBe(false);
      await life.workload.move("away");
      expect((await drain.work).subject).toBe(probe.names.nameOf("app-shadow", null));
      await scene.finish();
    },
  },
  {
    number: 13,
    title: "draining that is called off ends with that reason, and may be begun again",
    over: true,
    async run(scene) {
      const { life, probe } = scene;
      await life.to("Active");
      await life.stopPump();
      const calledOff = new AbortController();
      const drain = life.engine.drainApplication(calledOff.signal);
      await probe.settleDown();
      calledOff.abort(new Error("enough"));
      await expect(drain).rejects.toThrow("enough");
      await scene.finish();
    },
  },
  {
    number: 14,
    title: "a consumer returns while draining",
    over: true,
    variants: ["before the proof", "after the proof"],
    async run(scene, variant) {
      const { life, probe } = scene;
      const ids = await activeWithResidue(scene, 4);
      await life.to("Active");
      if (variant.startsWith("after")) {
        await life.to("HandingBack");
        const proof = await life.engine.drainApplication(never());
        const back = await probe.attach(APPLICATION, "application");
        const position = await probe.applicationPosition();
        await expectFailure(life.engine.commitHandoff(life.frontier(), proof), "ConsumerAttached");
        expect(await probe.applicationPosition()).toBe(position);
        await back.detach();
        // A proof serves once.
        await expectFailure(life.engine.commitHandoff(life.frontier(), proof), "Unprovable");
        return scene.finish();
      }
      await life.workload.move("away");
      await life.stopPump();
      const drain = watch(life.engine.drainApplication(never()));
      await probe.settleDown();
      await life.workload.move("application");
      await scene.untilHandled(ids);
      await probe.settleDown();
      expect(drain.done).toBe(false);
      await life.workload.move("away");
      await drain.work;
      await scene.finish();
    },
  },
  {
    number: 15,
    title: "a held delivery at cleanup: refused, then drained, then done",
    over: true,
    async run(scene) {
      const { life, probe } = scene;
      await life.to("CleaningUp");
      const shadow = probe.names.nameOf("app-shadow", null);
      const early = await life.engine.verifyCleanupReady();
      if (early.kind !== "ready") throw new Error("it was to be ready");
      await probe.publishInto("application", messageOf("carol", 900));
      const refused = await life.engine.cleanup(early.proofs);
      expect(refused.left).toContainEqual({
        name: shadow,
        failure: expect.objectContaining({ kind: "NeedsDrain" }),
      });
      expect(await probe.exists()).toContain(shadow);
      const holder = await probe.attach("late", "application", { hold: 1 });
      await scene.untilHeld(holder, 1);
      expect(await life.engine.verifyCleanupReady()).toMatchObject({
        kind: "blocked",
        failures: [{ kind: "ConsumerAttached" }],
      });
      await holder.goOn();
      await holder.detach();
      const show = await probe.hideCounts(shadow);
      expect(await life.engine.verifyCleanupReady()).toMatchObject({ failures: [{ kind: "Unprovable" }] });
      await show();
      await scene.finish();
    },
  },
  {
    number: 16,
    title: "messages after the frontier wait, and a restart while draining does not pump",
    over: true,
    variants: ["with the frontier persisted", "before it is"],
    async run(scene, variant) {
      const { life, probe } = scene;
      await life.to("Active");
      await scene.untilHandled(await scene.publish("carol", "alice"));
      if (variant.startsWith("before")) await life.to("DrainingApp");
      else await life.stopPump();
      const before = await scene.idsEverIn("application");
      life.agent.host.crash();
      const ids = await scene.publish("alice", "carol", "bob");
      await life.restart();
      await probe.settleDown();
      if (!variant.startsWith("before")) expect(await life.engine.stop()).toBe(life.frontier());
      expect(await scene.idsEverIn("application")).toEqual(before);
      expect(await scene.idsWaiting("source")).toEqual(ids);
      await scene.finish();
      expect(scene.handledBy(APPLICATION).slice(before.length)).toEqual(ids);
    },
  },
  {
    number: 17,
    title: "draining blocks on the last delivery that is not settled",
    over: true,
    variants: ["of the application", "of a route's developer"],
    async run(scene, variant) {
      const { life, probe } = scene;
      await life.to("Active");
      await life.startRoute(routeOf("alice"), { attach: false });
      const hers = variant.includes("developer");
      await life.workload.move("away");
      const ids = await scene.publish(hers ? "alice" : "carol");
      const holder = hers
        ? await life.attachDeveloper("alice", { hold: 1 })
        : await probe.attach(APPLICATION, "application", { hold: 1 });
      await scene.untilHeld(holder, 1);
      await life.stopPump();
      const route = life.route("alice");
      if (!route) throw new Error("there is no route");
      const drain = watch<unknown>(
        hers ? life.engine.drainRoute(route, never()) : life.engine.drainApplication(never()),
      );
      await probe.settleDown();
      expect(drain.done).toBe(false);
      await holder.goOn();
      await holder.detach();
      await drain.work;
      expect(await scene.idsEverIn("application")).toEqual(hers ? [] : ids);
      await scene.finish();
    },
  },
];
