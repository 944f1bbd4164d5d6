import { expect } from "vitest";
import type { Agent } from "./life.ts";
import { routeOf } from "./samples.ts";
import { expectFailure, type Scene } from "./scene.ts";
import type { Scenario } from "./splitting-suite.ts";

/** The old one neither publishes nor moves the source, and does not come back, also when the newer one is gone. */
async function oldOneIsOut(scene: Scene, old: Agent): Promise<void> {
  const { life, probe } = scene;
  await life.until("the old one knows", () => old.stoppedBy?.kind === "Fenced");
  expect((await old.engine.health()).pump).toBe("fenced");
  await expectFailure(old.engine.reconcileRoutes({ routes: [] }), "Fenced");
  await expectFailure(old.engine.stop(), "Fenced");
  await life.engine.close();
  const ids = await scene.publish("alice", "carol");
  await probe.settleDown();
  expect(await scene.idsWaiting("source")).toEqual(ids);
  await expectFailure(old.engine.start({ routes: [] }), "Fenced");
  await life.restart();
  await scene.untilHandled(ids);
}

export const fenceScenarios: readonly Scenario[] = [
  {
    number: 21,
    title: "a foreign consumer while active: degraded, the pump stands, the position is kept",
    over: true,
    async run(scene) {
      const { life, probe } = scene;
      await life.to("Active");
      await life.startRoute(routeOf("alice"));
      await scene.untilHandled(await scene.publish("alice", "carol"));
      const stranger = await probe.attach("stranger", "source", { hold: 1 });
      await life.until("the pump stands", () => life.agent.stoppedBy?.kind === "OwnershipViolated");
      expect(await life.engine.health()).toMatchObject({
        pump: "failed",
        failure: { kind: "OwnershipViolated" },
      });
      const ids = await scene.publish("alice", "carol");
      await probe.settleDown();
      expect(await scene.idsWaiting("source")).toEqual(expect.arrayContaining(ids));
      await expectFailure(life.restart(), "OwnershipViolated");
      await stranger.detach();
      await life.restart();
      await scene.untilHandled(ids);
      await scene.finish();
    },
  },
  {
    number: 21,
    title: "a split on hold does nothing",
    over: true,
    async run(scene) {
      const { life, probe } = scene;
      await life.to("Active");
      await life.report(life.agent, {
        kind: "failed",
        failure: "Unprovable",
        detail: "somebody has to look",
      });
      life.agent.host.crash();
      const ids = await scene.publish("carol");
      const agent = life.newAgent();
      expect(await agent.engine.recover(life.state)).toMatchObject({
        kind: "held",
        reason: expect.stringContaining("somebody has to look"),
      });
      const unknown = { ...life.state, phase: { name: "Dancing" } } as unknown as typeof life.state;
      expect((await agent.engine.recover(unknown)).kind).toBe("held");
      await probe.settleDown();
      expect(await scene.idsWaiting("source")).toEqual(ids);
      life.document.ask({ kind: "resume" });
      await life.restart();
      await scene.untilHandled(ids);
      await scene.finish();
    },
  },
  {
    number: 22,
    title: "a second instance takes the fence: the old one is out for good",
    over: true,
    async run(scene) {
      const { life } = scene;
      await life.to("Active");
      await life.startRoute(routeOf("alice"));
      const ids = await scene.publish("alice", "carol", "alice", "bob", "carol");
      const old = life.agent;
      await life.restart();
      await scene.untilHandled([...ids, ...(await scene.publish("alice", "carol"))]);
      await oldOneIsOut(scene, old);
      await scene.finish();
    },
  },
  {
    number: 23,
    title: "the old one, paused through the takeover and resumed: the same",
    over: true,
    variants: ["while it pumps", "before it has taken the fence", "before, and the newer one has died"],
    async run(scene, variant) {
      const { life, probe } = scene;
      await life.to(variant.startsWith("while") ? "Active" : "StartingPump");
      let old = life.agent;
      if (variant.startsWith("while")) {
        await life.startRoute(routeOf("alice"));
        await scene.publish("alice", "carol", "alice", "bob", "carol");
        await life.until(
          "something is under way",
          async () => (await probe.everIn("application")).length > 0,
        );
      } else if (variant.includes("died")) {
        await life.to("Active");
        old = life.newAgent();
        begin(old.engine.recover(life.state));
      } else {
        begin(old.engine.start({ routes: [] }));
      }
      old.host.pause();
      await life.restart();
      await life.to("Active");
      await scene.untilHandled(await scene.publish("alice", "carol", "alice", "bob", "carol"));
      const { host } = life.agent;
      if (variant.includes("died")) host.crashAt("settle-source", "before");
      const later = await scene.publish("carol", "alice");
      if (variant.includes("died")) await host.crashed;
      else await scene.untilHandled(later);
      old.host.resume();
      await probe.settleDown();
      if (variant.includes("died")) {
        // The fence is free, and still it is not the old one's to take.
        expect(await scene.idsWaiting("source")).toEqual(later);
        await life.restart();
        await scene.untilHandled(later);
      }
      await oldOneIsOut(scene, old);
      await scene.finish();
    },
  },
];

/** Nobody awaits it: its process is about to be paused, and what comes of it shows in its `stopped`. */
function begin(work: Promise<unknown>): void {
  work.catch(() => undefined);
}
