import { runInDurableObject } from "cloudflare:test";
import { describe, expect, test } from "vitest";
import { PlatformSql } from "../../src/durable/platform.ts";
import { SplitStore } from "../../src/durable/split-manager/split-store.ts";
import { newSplit } from "../../src/splitting/state/new-split.ts";
import { step } from "../../src/splitting/state/phase-machine.ts";
import { PREPARED, SOURCES, setup, TO_ACTIVE, TO_CLEANUP } from "./split-place.ts";

const ALICE = {
  route: "alice",
  queue: "orders",
  filter: { header: "x-dev", equals: "alice" },
  ttlMs: 30_000,
};

describe("a split from its declaration to its end", () => {
  test("is driven by people and one agent, each phase stored before it is told", async () => {
    const { ok, declare, agent, stored } = setup("whole-life");
    expect(await declare()).toMatchObject({
      phase: "Inactive",
      generation: 1,
      agent: { connected: false, epoch: 0 },
      deadlineAt: null,
    });
    const one = await agent();
    expect(await ok("startSplit", {})).toMatchObject({
      phase: "Preparing",
      agent: { connected: true, epoch: 1 },
    });
    expect(await one.task("prepare")).toMatchObject({ mayPump: false, sources: [{ queue: "orders" }] });
    const resources = [{ kind: "app-shadow" as const, queue: "orders", slot: null }];
    expect(await one.report({ kind: "record", resources })).toMatchObject({ type: "accepted" });
    const [shadow] = (await one.until(() => one.command.resources.length > 0 && one.command)).resources;
    expect((await stored()).resources).toEqual([shadow]);
    await one.reportAll([{ kind: "created", names: [shadow?.name ?? ""] }, ...TO_ACTIVE]);
    expect(await one.task("pump")).toMatchObject({ mayPump: true });
    expect(await ok("getSplit", {})).toMatchObject({ phase: "Active", deadlineAt: null });
    await ok("stopSplit", {});
    await one.task("drain");
    await one.reportAll(TO_CLEANUP);
    const gone = { name: shadow?.name ?? "", evidence: "0 messages, 0 consumers" };
    await one.reportAll([{ kind: "deleting", ...gone }, { kind: "deleted", ...gone }, { kind: "cleaned" }]);
    await one.task("rest");
    expect(await ok("getSplit", {})).toMatchObject({ phase: "Inactive", resources: [], retained: [] });
    expect(await ok("deleteSplit", { force: false })).toBeNull();
    await one.until(() => one.closed);
  });

  test("calls that came twice are answered as the first", async () => {
    const { ok, call, declare, stored } = setup("twice");
    await declare();
    await declare();
    await ok("startSplit", {});
    const { splitId, generation } = await stored();
    await ok("startSplit", {});
    expect(await stored()).toMatchObject({ splitId, generation });
    const route = await ok("putSplitRoute", ALICE);
    expect(await ok("getSplitRoute", { route: "alice" })).toEqual(route);
    expect(await ok("listSplitRoutes", {})).toEqual({ routes: [route] });
    await ok("deleteSplitRoute", { route: "alice" });
    expect(await call("deleteSplitRoute", { route: "alice" })).toMatchObject({
      error: { code: "not-found" },
    });
    await ok("stopSplit", {});
    expect(await ok("stopSplit", {})).toMatchObject({ phase: "AbortingActivation" });
    expect(await ok("resumeSplit", {})).toMatchObject({ phase: "AbortingActivation" });
  });

  test("an undeclared workload has nothing, and asking makes nothing", async () => {
    const { call, inStorage, of, stub } = setup("undeclared");
    for (const name of ["getSplit", "startSplit", "stopSplit", "resumeSplit", "listSplitRoutes"] as const) {
      expect(await call(name, {}), name).toMatchObject({ ok: false, error: { code: "not-found" } });
    }
    expect(await call("deleteSplit", { force: true })).toMatchObject({ error: { code: "not-found" } });
    expect(await call("putSplitRoute", ALICE)).toMatchObject({ error: { code: "not-found" } });
    expect(await inStorage((sql) => sql.exec("SELECT * FROM split_documents").toArray())).toEqual([]);
    const calls = stub() as unknown as { getSplit(at: typeof of, input: object): Promise<unknown> };
    expect(await calls.getSplit({ ...of, workload: "another" }, {})).toMatchObject({
      error: { code: "not-found" },
    });
  });

  test("an object answers only for the workload that it belongs to", async () => {
    const { declare, stub, of } = setup("own-workload");
    await declare();
    const calls = stub() as unknown as { getSplit(at: typeof of, input: object): Promise<unknown> };
    for (const at of [
      { ...of, workload: "another" },
      { ...of, tenant: "acme" },
    ]) {
      expect(await calls.getSplit(at, {})).toMatchObject({ ok: false, error: { code: "internal" } });
    }
  });

  test("a declaration after a deletion goes on counting: no epoch is given twice", async () => {
    const { ok, declare, agent, stored } = setup("again");
    await declare();
    const one = await agent();
    expect(one.epoch).toBe(1);
    await ok("deleteSplit", { force: false });
    expect(await one.until(() => one.closed)).toMatchObject({ code: 4004 });
    await declare();
    expect(await stored()).toMatchObject({ agentEpoch: 1, generation: 4 });
    expect((await agent()).epoch).toBe(2);
  });

  test("what was left behind is forgotten only by force", async () => {
    const { ok, call, declare, agent } = setup("left-behind");
    await declare();
    await ok("startSplit", {});
    const one = await agent();
    await one.reportAll([
      { kind: "record", resources: [{ kind: "fence", queue: "orders", slot: null }] },
      PREPARED,
    ]);
    await ok("stopSplit", {});
    const { resources } = await one.task("abort");
    await one.reportAll([
      { kind: "aborted", proofs: [{ queue: "orders", evidence: "seen" }] },
      { kind: "retained", name: resources[0]?.name ?? "", reason: "it has a consumer that nobody knows" },
      { kind: "cleaned" },
    ]);
    expect(await ok("getSplit", {})).toMatchObject({
      retained: [{ reason: "it has a consumer that nobody knows" }],
    });
    expect(await call("startSplit", {})).toMatchObject({ error: { code: "conflict" } });
    expect(await call("deleteSplit", { force: false })).toMatchObject({ error: { code: "conflict" } });
    expect(await ok("deleteSplit", { force: true })).toBeNull();
  });
});

describe("a shadow that was deleted by hand", () => {
  test("is made again by a resume that names it, and by no other", async () => {
    const { ok, call, declare, agent, stored } = setup("make-again");
    await declare();
    await ok("startSplit", {});
    const one = await agent();
    const refs = (["app-shadow", "checkpoint"] as const).map((kind) => ({
      kind,
      queue: "orders",
      slot: null,
    }));
    await one.reportAll([{ kind: "record", resources: refs }]);
    const { resources } = await stored();
    const [shadow = "", checkpoint = ""] = resources.map(({ name }) => name);
    const failed = { kind: "failed", failure: "ShadowUnsafe", detail: `${shadow} is missing` } as const;
    await one.reportAll([{ kind: "created", names: [shadow, checkpoint] }, ...TO_ACTIVE, failed]);
    expect(await ok("getSplit", {})).toMatchObject({
      phase: "Degraded",
      nextSafeAction: expect.stringContaining("makeAgain"),
    });
    for (const [names, code] of [
      [[checkpoint], "conflict"],
      [[shadow, "fairlane-look-alike"], "not-found"],
    ] as const) {
      expect(await call("resumeSplit", { makeAgain: [...names] })).toMatchObject({ error: { code } });
      expect((await stored()).phase.name).toBe("Degraded");
    }
    expect(await ok("resumeSplit", { makeAgain: [shadow] })).toMatchObject({ phase: "Active" });
    const states = [
      { name: shadow, state: "recorded" },
      { name: checkpoint, state: "created" },
    ];
    expect(await one.task("pump")).toMatchObject({ resources: states });
    // Made twice it is answered as the first time.
    expect(await ok("resumeSplit", { makeAgain: [shadow] })).toMatchObject({ phase: "Active" });
    await one.reportAll([{ kind: "created", names: [shadow] }]);
    expect(await call("resumeSplit", { makeAgain: [shadow] })).toMatchObject({ error: { code: "conflict" } });
    expect(await ok("resumeSplit", {})).toMatchObject({ phase: "Active" });
  });
});

describe("the compare-and-swap", () => {
  test("of two writers that read the same generation one writes, and the other hears of it", async () => {
    const { declare, stub, of, stored, ok } = setup("two-writers");
    await declare();
    await runInDurableObject(stub(), (_, { storage }) => {
      const [one, other] = [0, 1].map(() => new SplitStore(new PlatformSql(storage), of));
      const loaded = [one?.load(), other?.load()] as const;
      const started = loaded.map((from, n) => {
        const result = step(
          from?.kind === "ok" ? from.state : expect.fail("a document"),
          { kind: "start", splitId: `split-${n}` },
          Date.now(),
        );
        return result.kind === "next" ? result.state : expect.fail("a step");
      });
      expect(one?.save(loaded[0] as never, started[0] as never)).toBe("saved");
      expect(other?.save(loaded[1] as never, started[1] as never)).toBe("raced");
      expect(one?.load()).toMatchObject({ kind: "ok", state: { splitId: "split-0", generation: 2 } });
      expect(other?.load()).toMatchObject({ kind: "ok", state: { splitId: "split-0", generation: 2 } });
    });
    expect(await stored()).toMatchObject({ splitId: "split-0" });
    expect(await ok("getSplit", {})).toMatchObject({ phase: "Preparing" });
  });

  test("of two first declarations one is stored", async () => {
    const { stub, of, call, ok } = setup("two-firsts");
    await call("getSplit", {});
    await runInDurableObject(stub(), (_, { storage }) => {
      const outcomes = ["fairlane", "other"].map((prefix) => {
        const store = new SplitStore(new PlatformSql(storage), of);
        // Both saw nothing, whatever is there by now.
        const floors = { generation: 0, agentEpoch: 0 };
        const declared = step(newSplit(of, floors, prefix), { kind: "declare", prefix, sources: SOURCES }, 0);
        return store.save(
          { kind: "absent", floors },
          declared.kind === "next" ? declared.state : expect.fail(),
        );
      });
      expect(outcomes).toEqual(["saved", "raced"]);
    });
    expect(await ok("getSplit", {})).toMatchObject({ prefix: "fairlane", generation: 1 });
  });
});

describe("an eviction loses nothing but time", () => {
  test("between any two steps of a whole life", async () => {
    const { ok, declare, agent, evict, stored } = setup("evict-life");
    await declare();
    await evict();
    const one = await agent();
    await evict();
    await ok("startSplit", {});
    for (const report of TO_ACTIVE) {
      await evict();
      await one.reportAll([report]);
    }
    await evict();
    await ok("putSplitRoute", ALICE);
    await evict();
    expect(await ok("getSplitRoute", { route: "alice" })).toMatchObject({ state: "active" });
    await ok("stopSplit", {});
    await one.task("drain");
    const proof = { queue: "orders", evidence: "seen" };
    for (const report of [{ kind: "routeDrained" as const, route: "alice", proof }, ...TO_CLEANUP]) {
      await evict();
      await one.reportAll([report]);
    }
    await evict();
    await one.reportAll([{ kind: "cleaned" }]);
    expect((await stored()).phase).toEqual({ name: "Inactive" });
    // The same connection all along, though the object was another each time.
    expect([one.epoch, one.closed]).toEqual([1, null]);
  });

  test("a connection's epoch is remembered, and the new life sends its commands to it", async () => {
    const { ok, declare, agent, evict } = setup("evict-epoch");
    await declare();
    const one = await agent();
    await evict();
    expect(await ok("startSplit", {})).toMatchObject({ agent: { connected: true, epoch: 1 } });
    expect(await one.task("prepare")).toMatchObject({ agentEpoch: 1 });
  });

  test("with the connections gone too, the agent comes back and gets the command of the persisted phase", async () => {
    const { ok, declare, agent, lose } = setup("evict-machine");
    await declare();
    const one = await agent();
    await ok("startSplit", {});
    await one.reportAll(TO_ACTIVE.slice(0, 2));
    await lose();
    await one.until(() => one.closed);
    expect(await ok("getSplit", {})).toMatchObject({ phase: "StartingPump", agent: { connected: false } });
    const again = await agent(one.epoch);
    expect(again.epoch).toBe(2);
    expect(again.command).toMatchObject({ task: "startPump", sources: [{ checkpoint: '{"at":1}' }] });
  });
});

describe("a document that another version wrote", () => {
  test("an older one is gone on with, and becomes new with the next change", async () => {
    const { declare, overwrite, ok, stored } = setup("older");
    await declare();
    await overwrite(({ retained: _, enteredGeneration: __, ...rest }) => ({ ...rest, schemaVersion: 0 }));
    expect(await ok("getSplit", {})).toMatchObject({ phase: "Inactive", retained: [] });
    expect(await stored()).toMatchObject({ schemaVersion: 0 });
    await ok("startSplit", {});
    expect(await stored()).toMatchObject({ schemaVersion: 1, retained: [], phase: { name: "Preparing" } });
  });

  test.each<[string, (document: Record<string, unknown>) => object, RegExp]>([
    ["newer", (document) => ({ ...document, schemaVersion: 2 }), /unknown document version/],
    ["unknown-field", (document) => ({ ...document, colour: "red" }), /does not fit its schema/],
    ["other-generation", (document) => ({ ...document, generation: 7 }), /not the one that was written/],
    ["unknown-phase", (document) => ({ ...document, phase: { name: "Napping" } }), /does not fit/],
  ])("a %s one is held, shown, and never overwritten", async (name, change, reason) => {
    const { declare, overwrite, ok, call, stored, connect, alarm } = setup(`held-${name}`);
    await declare();
    const text = await overwrite(change);
    const view = await ok("getSplit", {});
    expect(view).toMatchObject({ phase: "Degraded", reason: expect.stringMatching(reason), sources: [] });
    expect(view.nextSafeAction).toMatch(/not overwritten/);
    for (const command of ["startSplit", "stopSplit", "resumeSplit", "listSplitRoutes"] as const) {
      expect(await call(command, {}), command).toMatchObject({ error: { code: "conflict" } });
    }
    expect(await call("putSplit", { prefix: "fairlane", sources: SOURCES })).toMatchObject({
      error: { code: "conflict" },
    });
    expect(await call("deleteSplit", { force: true })).toMatchObject({ error: { code: "conflict" } });
    const one = await connect();
    one.send({ type: "hello", version: 1, previousEpoch: null });
    expect(await one.until(() => one.closed)).toMatchObject({ code: 4004 });
    expect(one.messages).toMatchObject([{ type: "refused", because: "held" }]);
    await alarm();
    expect(JSON.stringify(await stored())).toBe(text);
  });
});
