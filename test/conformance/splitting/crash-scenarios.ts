import { expect } from "vitest";
import { EngineFailure } from "../../../src/splitting/engine-failures.ts";
import { EventRefused } from "./keeper.ts";
import { routeOf } from "./samples.ts";
import { expectFailure, type Scene } from "./scene.ts";
import type { Scenario } from "./splitting-suite.ts";
import { APPLICATION } from "./workload.ts";

const CONSUMER_CRASHES = 30;

/** Active, with alice at work, and nothing under way. */
async function activeWithAlice(scene: Scene): Promise<void> {
  const { life } = scene;
  await life.to("Active");
  await life.startRoute(routeOf("alice"));
  await scene.untilHandled(await scene.publish("alice", "carol"));
}

export const crashScenarios: readonly Scenario[] = [
  {
    number: 9,
    title: "a crash between publish and settling: at most one repeated, into the same shadow",
    over: true,
    variants: ["of the first", "of the third"],
    async run(scene, variant) {
      const { life } = scene;
      await activeWithAlice(scene);
      life.agent.host.crashAt("settle-source", "before", variant.includes("third") ? 3 : 1);
      const ids = await scene.publish("alice", "carol", "alice", "bob", "alice");
      await scene.untilHandled(ids);
      expect(life.restarts).toBe(1);
      await scene.finish();
    },
  },
  {
    number: 10,
    title: "a crash with publishes that are not confirmed",
    over: true,
    variants: [
      "the process dies",
      "the connection is cut",
      "while a table is changed",
      "and the route shall take other messages",
    ],
    async run(scene, variant) {
      const { life, probe } = scene;
      if (variant.includes("other")) return crashBeforeAnotherFilter(scene);
      if (variant.includes("table")) return crashInTableChange(scene);
      await activeWithAlice(scene);
      const { host } = life.agent;
      const ids = await scene.publish("alice", "carol", "alice", "bob", "alice");
      if (variant.includes("cut")) {
        await life.until(
          "something is under way",
          async () => (await probe.everIn("application")).length > 1,
        );
        host.cutConnections();
        await probe.until("the engine knows", () => life.agent.stoppedBy?.kind === "Fenced");
        await expectFailure(life.engine.reconcileRoutes(life.table()), "Fenced");
        await life.restart();
      } else {
        host.crashAt("publish", "after", 2);
      }
      await scene.untilHandled(ids);
      expect(life.restarts).toBe(1);
      await scene.finish();
    },
  },
  {
    number: 11,
    title: "aborted transactions at the source",
    over: true,
    async run(scene) {
      const { life, probe, producer } = scene;
      await life.to("Active");
      await life.startRoute(routeOf("alice"));
      const first = await scene.publish("alice", "carol");
      await probe.seedAborted(producer.next(["alice", "carol"]));
      await probe.seedAborted(producer.next(["alice"]));
      const commit = await probe.seedOpen(producer.next(["alice", "bob"]));
      const behind = await scene.publish("carol");
      await scene.untilHandled(first);
      await probe.settleDown();
      expect(scene.handledBy(APPLICATION)).toEqual([first[1]]);
      await commit();
      await scene.untilHandled(behind);
      // Up to and past the end of the source: nothing but what was aborted is between.
      await probe.seedAborted(producer.next(["carol", "alice"]));
      await scene.finish();
    },
  },
  {
    number: 28,
    title: "thirty crashes of a route's consumer that holds one message: it is still there",
    over: true,
    async run(scene) {
      const { life } = scene;
      await life.to("Active");
      await life.startRoute(routeOf("alice"), { attach: false });
      const [id] = await scene.publish("alice");
      for (let crash = 0; crash < CONSUMER_CRASHES; crash++) {
        const party = await life.attachDeveloper("alice", { hold: 1 });
        await scene.untilHeld(party, 1);
        await party.detach();
      }
      expect(await scene.idsWaiting(0)).toEqual([id]);
      await life.attachDeveloper("alice");
      await scene.untilHandled([id ?? ""]);
      expect(scene.handledBy("alice")).toEqual([id]);
      await scene.finish();
    },
  },
  {
    number: 29,
    title: "a shadow deleted by hand: nothing is settled, and it goes on after repair",
    over: true,
    variants: ["the application's", "a route's"],
    async run(scene, variant) {
      const { life, probe } = scene;
      await activeWithAlice(scene);
      const mine = variant.includes("route");
      const name = mine ? probe.names.nameOf("route-shadow", 0) : probe.names.nameOf("app-shadow", null);
      await probe.deleteByHand(name);
      const ids = await scene.publish(mine ? "alice" : "carol");
      await life.until("the pump stands", () => life.agent.stoppedBy?.kind === "ShadowUnsafe");
      await probe.settleDown();
      expect(await scene.idsWaiting("source")).toEqual(ids);
      // Not by a restart alone: what was in the shadow may be gone, and a person has to know.
      await expectFailure(life.restart(), "ShadowUnsafe");
      expect(await probe.exists()).not.toContain(name);
      await life.makeAgain(name);
      await life.restart();
      if (mine) await life.attachDeveloper("alice");
      else {
        await life.workload.move("away");
        await life.workload.move("application");
      }
      await scene.untilHandled(ids);
      await scene.finish();
    },
  },
  {
    number: 29,
    title: "a shadow deleted by hand when the pump is stopped: draining does not take it for empty",
    over: true,
    variants: ["the application's", "a route's"],
    async run(scene, variant) {
      const { life, probe } = scene;
      await activeWithAlice(scene);
      await life.stopPump();
      const mine = variant.includes("route");
      const name = mine ? probe.names.nameOf("route-shadow", 0) : probe.names.nameOf("app-shadow", null);
      await probe.deleteByHand(name);
      await expectFailure(life.to("QuiescingHandback"), "ShadowUnsafe");
      expect(life.phase).toBe("DrainingApp");
      await expectFailure(
        life.restart().then(() => life.to("QuiescingHandback")),
        "ShadowUnsafe",
      );
      expect(await probe.exists()).not.toContain(name);
      await life.makeAgain(name);
      await life.restart();
      expect((await probe.exists()).includes(name)).toBe(!mine);
      if (!mine) await life.workload.move("away");
      await scene.finish();
    },
  },
  {
    number: 30,
    title: "nothing unrecorded, nothing of a user's",
    over: true,
    variants: ["a crash between recording and creating", "a failed delete"],
    async run(scene, variant) {
      const { life, probe } = scene;
      await probe.makeUsersQueue("fl-app-shadow-orders-0123456789abcdef0123");
      scene.users.push("fl-app-shadow-orders-0123456789abcdef0123");
      const shadow = probe.names.nameOf("app-shadow", null);
      if (variant.includes("creating")) {
        life.agent.host.crashAt("create-shadow", "before");
        await life.to("QuiescingApp");
        expect(life.restarts).toBe(1);
        return scene.finish();
      }
      await activeWithAlice(scene);
      await life.to("CleaningUp");
      const allow = await probe.refuseDeletes(shadow);
      await expect(life.to("Inactive")).rejects.toThrow(EngineFailure);
      const left = life.state.resources.map(({ name }) => name);
      expect(left).toEqual(expect.arrayContaining([shadow, probe.names.nameOf("fence", null)]));
      expect(await probe.exists()).toContain(shadow);
      await allow();
      await scene.finish();
    },
  },
  {
    number: 30,
    title: "a look-alike is left alone",
    over: true,
    variants: ["there before", "made between recording and creating"],
    async run(scene, variant) {
      const { life, probe } = scene;
      const shadow = probe.names.nameOf("app-shadow", null);
      scene.users.push(shadow);
      if (variant.includes("between")) {
        life.agent.host.crashAt("create-shadow", "before");
        const dead = life.agent.host.crashed;
        life.engine.prepare().catch(() => undefined);
        await dead;
        await probe.makeUsersQueue(shadow);
        await life.restart();
      } else {
        await probe.makeUsersQueue(shadow);
        expect(await life.engine.preflight()).toMatchObject({
          kind: "refused",
          failures: [{ kind: "ShadowUnsafe" }],
        });
      }
      await expectFailure(life.engine.prepare(), "ShadowUnsafe");
      life.stop();
      await life.to("CleaningUp");
      if (variant.includes("between")) {
        expect(await life.engine.verifyCleanupReady()).toMatchObject({
          kind: "blocked",
          failures: [{ kind: "ShadowUnsafe" }],
        });
        await life.report(life.agent, { kind: "retained", name: shadow, reason: "it is not ours" });
      }
      await scene.finish();
      expect(await probe.countIn(shadow)).toBe(1);
    },
  },
];

/** What was published by the old filter comes again, and has to go the same way: the name is free once that is settled. */
async function crashBeforeAnotherFilter(scene: Scene): Promise<void> {
  const { life } = scene;
  await activeWithAlice(scene);
  const { host } = life.agent;
  host.crashAt("settle-source", "before", 2);
  const ids = await scene.publish("alice", "alice", "alice", "bob");
  await host.crashed;
  const other = { ...routeOf("bob"), route: "alice" };
  expect(() => life.putRoute(other)).toThrow(EventRefused);
  await life.restart();
  await scene.untilHandled(ids);
  await life.endRoute("alice");
  await life.startRoute(other);
  const [bobs, alices] = await scene.publish("bob", "alice");
  await scene.untilHandled([bobs ?? "", alices ?? ""]);
  expect(scene.handledBy("alice")).toContain(bobs);
  expect(scene.handledBy(APPLICATION)).toContain(alices);
  await scene.finish();
}

/** The route is in the document and not in force when the agent dies: what it had published goes the same way again. */
async function crashInTableChange(scene: Scene): Promise<void> {
  const { life } = scene;
  await life.to("Active");
  await scene.untilHandled(await scene.publish("carol"));
  const { host } = life.agent;
  life.putRoute(routeOf("alice"));
  host.crashAt("settle-source", "before", 2);
  const ids = await scene.publish("alice", "alice", "alice", "alice");
  await host.crashed;
  await life.surviving(async (agent) => agent.engine.reconcileRoutes(life.table()));
  await life.attachDeveloper("alice");
  await scene.untilHandled(ids);
  expect((await scene.idsEverIn("application")).slice(1, 3)).toEqual(ids.slice(0, 2));
  await scene.finish();
}
