import { describe, expect, test } from "vitest";
import { AGENT_CLOSE, MAX_AGENT_MESSAGE_CHARS } from "../../src/protocol/split-agent.ts";
import { connectRaw, PREPARED, setup, TO_ACTIVE } from "./split-place.ts";

describe("one agent at a time", () => {
  test("a newer one displaces it for good, and it is told so", async () => {
    const { declare, ok, agent, connect, stored } = setup("displaced");
    await declare();
    const one = await agent();
    await ok("startSplit", {});
    const other = await agent();
    expect([one.epoch, other.epoch]).toEqual([1, 2]);
    expect(await one.until(() => one.closed)).toMatchObject({ code: AGENT_CLOSE.displaced });
    expect(one.last("fenced")).toEqual({ type: "fenced", epoch: 2 });
    expect(await stored()).toMatchObject({ agentEpoch: 2 });
    // It may not come back by another hello either, and the one that followed it stays.
    const again = await connect();
    again.send({ type: "hello", version: 1, previousEpoch: one.epoch });
    expect(await again.until(() => again.closed)).toMatchObject({ code: AGENT_CLOSE.fenced });
    expect(again.last("fenced")).toEqual({ type: "fenced", epoch: 2 });
    await other.reportAll([PREPARED]);
    expect(await stored()).toMatchObject({ agentEpoch: 2, phase: { name: "QuiescingApp" } });
  });

  test("an old one that slept through it all and speaks again is fenced, and nothing comes of its report", async () => {
    const { declare, ok, agent, connect, lose, stored } = setup("sleeper");
    await declare();
    await ok("startSplit", {});
    const sleeper = await agent();
    const { enteredGeneration } = sleeper.command;
    await lose();
    const other = await agent();
    // On a connection of its own, without a hello, as if nothing had happened.
    const awake = await connect();
    awake.send({ type: "report", id: 1, epoch: sleeper.epoch, enteredGeneration, report: PREPARED });
    expect(await awake.until(() => awake.closed)).toMatchObject({ code: AGENT_CLOSE.fenced });
    expect(await stored()).toMatchObject({ phase: { name: "Preparing" }, agentEpoch: other.epoch });
    expect(other.closed).toBeNull();
  });

  test("nor does it get through with the epoch of its successor, or one that is to come", async () => {
    const { declare, ok, agent, connect, stored } = setup("impostor");
    await declare();
    await ok("startSplit", {});
    const one = await agent();
    const { enteredGeneration } = one.command;
    const impostor = await connect();
    for (const epoch of [one.epoch, one.epoch + 1]) {
      impostor.messages.length = 0;
      impostor.send({ type: "report", id: 7, epoch, enteredGeneration, report: PREPARED });
      expect(await impostor.until(() => impostor.last("refused"))).toMatchObject({
        id: 7,
        because: "invalid",
      });
    }
    expect(await one.report(PREPARED, { epoch: one.epoch + 1 })).toMatchObject({ because: "invalid" });
    expect((await stored()).phase).toEqual({ name: "Preparing" });
  });

  test("the same agent on a new connection gets a new epoch", async () => {
    const { declare, agent } = setup("reconnect");
    await declare();
    const one = await agent();
    one.close();
    expect((await agent(one.epoch)).epoch).toBe(2);
  });

  test("of an agent and its successor both at once the later hello wins", async () => {
    const { declare, connect, stored } = setup("both");
    await declare();
    const agents = await Promise.all([connect(), connect()]);
    await Promise.all(agents.map((one) => one.hello()));
    const [first, second] = agents.toSorted((one, other) => one.epoch - other.epoch);
    expect([first?.epoch, second?.epoch]).toEqual([1, 2]);
    expect(await first?.until(() => first.closed)).toMatchObject({ code: AGENT_CLOSE.displaced });
    expect(await stored()).toMatchObject({ agentEpoch: 2 });
  });
});

describe("reports", () => {
  test("that were answered and come again are refused as late, with the command of now", async () => {
    const { declare, ok, agent } = setup("late");
    await declare();
    await ok("startSplit", {});
    const one = await agent();
    const { enteredGeneration } = one.command;
    await one.reportAll([PREPARED]);
    expect(await one.report(PREPARED, { enteredGeneration })).toMatchObject({ because: "stale" });
    expect(await one.report(PREPARED)).toMatchObject({ because: "phase" });
    expect(one.command).toMatchObject({ task: "quiesceApp" });
  });

  test("a failure holds the split, the agent is told to hold, and a resume goes on", async () => {
    const { declare, ok, agent } = setup("held-by-agent");
    await declare();
    await ok("startSplit", {});
    const one = await agent();
    await one.reportAll([
      ...TO_ACTIVE,
      { kind: "failed", failure: "OwnershipViolated", detail: "consumer ctag-7 is not ours" },
    ]);
    expect(await one.task("hold")).toMatchObject({ mayPump: false });
    expect(await ok("getSplit", {})).toMatchObject({
      phase: "Degraded",
      resumePhase: "Active",
      reason: "OwnershipViolated: consumer ctag-7 is not ours",
      nextSafeAction: expect.stringMatching(/consumer.*resume/i),
    });
    await ok("resumeSplit", {});
    await one.task("pump");
  });

  test.each<[string, unknown]>([
    ["no JSON", "hello"],
    ["half of it", '{"type":'],
    ["a list", []],
    ["null", null],
    ["no type", {}],
    ["an unknown type", { type: "goodbye" }],
    ["a manager's message", { type: "welcome", epoch: 9 }],
    ["an unknown field", { type: "hello", version: 1, previousEpoch: null, force: true }],
    ["an unknown version", { type: "hello", version: 2, previousEpoch: null }],
    ["no previous epoch", { type: "hello", version: 1 }],
    ["a negative epoch", { type: "hello", version: 1, previousEpoch: -1 }],
    ["an epoch that is no integer", { type: "hello", version: 1, previousEpoch: 1.5 }],
    ["an unknown report", { type: "report", id: 1, epoch: 1, enteredGeneration: 1, report: { kind: "won" } }],
    [
      "a report with a field too many",
      { type: "report", id: 1, epoch: 1, enteredGeneration: 1, report: { kind: "cleaned", force: true } },
    ],
    [
      "a report of too much",
      {
        type: "report",
        id: 1,
        epoch: 1,
        enteredGeneration: 1,
        report: { kind: "deleting", name: "n", evidence: "e".repeat(2001) },
      },
    ],
    [
      "a report without a number",
      { type: "report", epoch: 1, enteredGeneration: 1, report: { kind: "cleaned" } },
    ],
    ["deep nesting", "[".repeat(100_000)],
  ])("%s: refused, and nothing is done", async (_, message) => {
    const { declare, agent, stored } = setup("malformed");
    await declare();
    const one = await agent();
    const before = await stored();
    one.send(typeof message === "string" ? message : JSON.stringify(message));
    const refused = await one.until(() => one.last("refused"));
    expect(refused).toMatchObject({ id: null, because: "invalid", reason: expect.stringMatching(/\S/) });
    expect(refused.reason.length).toBeLessThan(500);
    expect(one.closed).toBeNull();
    expect(await stored()).toEqual(before);
  });

  test("a second hello on one connection is refused", async () => {
    const { declare, agent, stored } = setup("second-hello");
    await declare();
    const one = await agent();
    one.send({ type: "hello", version: 1, previousEpoch: null });
    expect(await one.until(() => one.last("refused"))).toMatchObject({ because: "invalid" });
    expect(await stored()).toMatchObject({ agentEpoch: 1 });
  });
});

describe("what ends a connection", () => {
  test("bytes, and too large a message", async () => {
    const { declare, agent } = setup("too-large");
    await declare();
    const bytes = await agent();
    bytes.send(Uint8Array.of(123, 125));
    expect(await bytes.until(() => bytes.closed)).toMatchObject({ code: AGENT_CLOSE.unsupported });
    const large = await agent();
    large.send(" ".repeat(MAX_AGENT_MESSAGE_CHARS + 1));
    expect(await large.until(() => large.closed)).toMatchObject({ code: AGENT_CLOSE.tooLarge });
  });

  test("more messages than anybody needs, also across an eviction", async () => {
    const { declare, agent, evict, ok } = setup("too-fast");
    await declare();
    const one = await agent();
    for (let i = 0; i < 150; i++) one.send("{}");
    await one.until(() => one.messages.filter(({ type }) => type === "refused").length === 150);
    await evict();
    for (let i = 0; i < 400; i++) one.send("{}");
    expect(await one.until(() => one.closed)).toMatchObject({ code: AGENT_CLOSE.tooFast });
    // Others are served all the while.
    expect(await ok("getSplit", {})).toMatchObject({ agent: { connected: false } });
  });

  test("strangers who never say hello make room, and never for the agent", async () => {
    const { declare, agent, connect } = setup("crowded");
    await declare();
    const one = await agent();
    const strangers = [];
    for (let i = 0; i < 6; i++) strangers.push(await connect());
    const [first, second, third] = strangers;
    for (const gone of [first, second, third]) {
      expect(await gone?.until(() => gone.closed)).toMatchObject({ code: AGENT_CLOSE.crowded });
    }
    expect([one.closed, strangers[5]?.closed]).toEqual([null, null]);
  });

  test("a ping is answered without the object", async () => {
    const { declare, agent, evict } = setup("ping");
    await declare();
    const one = await agent();
    await evict();
    one.send("ping");
    await one.until(() => one.messages.includes("pong" as never));
  });
});

describe("who may connect", () => {
  test("an admin by a WebSocket, to a split that is declared", async () => {
    const { declare } = setup("who-may");
    const missing = await connectRaw("who-may");
    expect([missing.status, missing.headers.get("content-type")]).toEqual([404, "application/problem+json"]);
    await declare();
    expect((await connectRaw("who-may", "consume")).status).toBe(403);
    expect((await connectRaw("who-may", "publish")).status).toBe(403);
    expect((await connectRaw("who-may", "admin", { authorization: "" })).status).toBe(401);
    const plain = await connectRaw("who-may", "admin", { upgrade: "" });
    expect(plain.status).toBe(400);
    expect(await plain.json()).toMatchObject({ issues: [{ path: "upgrade" }] });
    expect((await connectRaw("Not%20A%20Name")).status).toBe(400);
    const good = await connectRaw("who-may");
    expect(good.status).toBe(101);
    good.webSocket?.accept();
    good.webSocket?.close();
  });
});
