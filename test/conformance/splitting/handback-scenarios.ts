import { expect } from "vitest";
import { routeOf } from "./samples.ts";
import { expectFailure } from "./scene.ts";
import type { Scenario } from "./splitting-suite.ts";
import { APPLICATION } from "./workload.ts";

const never = () => new AbortController().signal;

export const handbackScenarios: readonly Scenario[] = [
  {
    number: 18,
    title: "handback resumes exactly after the frontier, once, and with nobody on the source",
    over: true,
    async run(scene) {
      const { life, probe } = scene;
      await life.to("Active");
      const before = await scene.publish("carol", "alice");
      await scene.untilHandled(before);
      await life.to("HandingBack");
      const after = await scene.publish("bob", "carol");
      const { engine } = life;
      const stranger = await probe.attach("stranger", "source", { hold: 1 });
      const position = await probe.applicationPosition();
      await expectFailure(
        engine.commitHandoff(life.frontier(), await engine.drainApplication(never())),
        "HandoffRefused",
      );
      expect(await probe.applicationPosition()).toBe(position);
      await stranger.detach();
      const first = await engine.commitHandoff(life.frontier(), await engine.drainApplication(never()));
      const committed = await probe.applicationPosition();
      const second = await engine.commitHandoff(life.frontier(), await engine.drainApplication(never()));
      expect(await engine.stop()).toBe(life.frontier());
      expect([first.outcome, second.outcome]).toEqual(["committed", "was committed"]);
      expect([first.readBack, second.readBack]).toEqual([life.frontier(), life.frontier()]);
      expect(await probe.applicationPosition()).toBe(committed);
      expect(await scene.idsWaiting("source")).toEqual(after);
      await scene.finish();
      expect(scene.handledBy(APPLICATION)).toEqual([...before, ...after]);
    },
  },
  {
    number: 19,
    title: "a source that is another one is refused",
    over: false,
    variants: ["made again, before the start", "retyped, before the start", "made again, while draining"],
    async run(scene, variant) {
      const { life, probe } = scene;
      const change = () => (variant.startsWith("retyped") ? probe.retypeSource() : probe.recreateSource());
      if (variant.includes("start")) {
        await life.to("StartingPump");
        await change();
        await expectFailure(life.engine.start({ routes: [] }), "SourceChanged");
        expect(await scene.idsEverIn("application")).toEqual([]);
        return;
      }
      await life.to("Active");
      await scene.untilHandled(await scene.publish("carol", "alice"));
      await life.to("HandingBack");
      const proof = await life.engine.drainApplication(never());
      await change();
      const position = await probe.applicationPosition();
      await expectFailure(life.engine.commitHandoff(life.frontier(), proof), "SourceChanged");
      expect(await probe.applicationPosition()).toBe(position);
    },
  },
  {
    number: 19,
    title: "a source that is made again while active is not read",
    over: false,
    async run(scene) {
      const { life, probe } = scene;
      await life.to("Active");
      await scene.untilHandled(await scene.publish("carol"));
      await probe.recreateSource();
      const ids = await scene.publish("alice");
      await life.until("the pump stands", () => life.agent.stoppedBy?.kind === "SourceChanged");
      await probe.settleDown();
      expect(await scene.idsWaiting("source")).toEqual(ids);
    },
  },
  {
    number: 26,
    title: "a split that lasts longer than the broker remembers positions",
    over: true,
    async run(scene) {
      const { life, probe } = scene;
      await life.workload.move("source");
      const first = await scene.publish("carol", "alice");
      await scene.untilHandled(first);
      await life.to("Active");
      await life.startRoute(routeOf("alice"), { attach: false });
      const [hers] = await scene.publish("alice");
      await scene.untilIn(0, 1);
      const position = await probe.applicationPosition();
      await probe.passTime(3 * probe.positionRetentionMs);
      expect(await probe.applicationPosition()).toBe(position);
      const later = await scene.publish("bob", "carol");
      await life.attachDeveloper("alice");
      await scene.untilHandled([hers ?? "", ...later]);
      await life.to("HandingBack");
      const last = await scene.publish("carol", "bob");
      await scene.finish();
      expect(scene.handledBy(APPLICATION)).toEqual([...first, ...later, ...last]);
      expect(scene.handledBy("alice")).toEqual([hers]);
    },
  },
];
