import { describe, expect, test } from "vitest";
import { giveBack } from "../../../src/client/fairlane.ts";
import { consuming, done, held } from "./consuming.ts";
import { brokenConnection, hang, json, problem, type Sent } from "./wire.ts";

describe("pulling", () => {
  test("asks with the group's visibility timeout, as one subscriber of a name of its own", async () => {
    const { role, time, stop, start } = consuming({ handler: () => {} });
    role.settings = { visibilityTimeoutMs: 7000, leaseDurationMs: 5000 };
    const work = start();
    await time.settle();
    expect(role.wire.sent.map(({ method, path }) => `${method} ${path}`)).toEqual([
      "GET /v1/tenants/demo/topics/t/groups/g",
      "POST /v1/tenants/demo/topics/t/groups/g/receive",
    ]);
    expect(role.wire.sent[1]?.json).toEqual({
      subscriber: expect.stringMatching(/^client-[0-9a-f-]{36}$/),
      maxMessages: 10,
      waitMs: 20_000,
      visibilityTimeoutMs: 7000,
    });
    stop.abort();
    expect(await work).toEqual(done);
  });

  test("a group that does not exist yet has the defaults, and the user's choice comes first", async () => {
    const { role, time, stop, start } = consuming({
      handler: () => {},
      visibilityTimeoutMs: 2000,
      subscriber: "me",
    });
    role.trouble = (_, kind) => (kind === "settings" ? problem(404, "not-found") : undefined);
    const work = start();
    await time.settle();
    expect(role.wire.sent[1]?.json).toMatchObject({ subscriber: "me", visibilityTimeoutMs: 2000 });
    stop.abort();
    expect(await work).toEqual(done);
  });

  test("never holds more than its concurrency, and asks only for what there is room for", async () => {
    const { handler, running, of } = held();
    const { role, time, stop, start } = consuming({ handler, concurrency: 3 });
    role.publish(...["a", "b", "c", "d", "e"].map((id) => ({ id })));
    const work = start();
    await time.advance(100);
    expect(running()).toEqual(["a", "b", "c"]);
    expect(role.receives.map(({ maxMessages }) => maxMessages)).toEqual([3]);
    of("b").end();
    await time.advance(100);
    expect(running()).toEqual(["a", "b", "c", "d"]);
    expect(role.receives.at(-1)).toMatchObject({ maxMessages: 1 });
    stop.abort();
    for (const id of ["a", "c", "d"]) of(id).end();
    expect(await work).toEqual(done);
    expect(role.decisions.sort()).toEqual(["ack a", "ack b", "ack c", "ack d"]);
  });

  test("waits a moment for more room while handlers run, and not longer", async () => {
    const { handler, of } = held();
    const { role, time, stop, start } = consuming({ handler, concurrency: 20 });
    role.publish(...Array.from({ length: 20 }, (_, i) => ({ id: `m${i}` })));
    const work = start();
    await time.settle();
    of("m0").end();
    await time.advance(2);
    for (let i = 1; i < 4; i++) of(`m${i}`).end();
    await time.advance(3);
    expect(role.receives.map(({ maxMessages }) => maxMessages)).toEqual([20, 4]);
    stop.abort();
    for (let i = 4; i < 20; i++) of(`m${i}`).end();
    expect(await work).toEqual(done);
  });

  test("asks for no more while the server takes no settlements", async () => {
    const { role, time, stop, start } = consuming({ handler: () => {}, concurrency: 5, drainMs: 0 });
    role.publish(...Array.from({ length: 1000 }, (_, i) => ({ id: `m${i}` })));
    role.trouble = (_, kind) => (kind === "settle" ? hang() : undefined);
    const work = start();
    await time.advance(1000);
    const taken = 1000 - role.due.length;
    expect(taken).toBeGreaterThan(100);
    expect(taken).toBeLessThanOrEqual(5 + 100 + 5);
    stop.abort();
    await time.advance(20_000);
    expect(await work).toEqual(done);
  });

  test("an empty answer that came at once is not asked for again at once", async () => {
    const { role, time, stop, start } = consuming({ handler: () => {} });
    role.trouble = (_, kind) =>
      kind === "receive" ? json({ deliveries: [], partitions: [], partitionsHeld: 0 }) : undefined;
    const work = start();
    await time.advance(1000);
    const asked = role.wire.sent.filter(({ path }) => path.endsWith("/receive")).length;
    expect(asked).toBeGreaterThan(5);
    expect(asked).toBeLessThan(12);
    stop.abort();
    expect(await work).toEqual(done);
  });
});

describe("turns", () => {
  const kinds = (sent: readonly Sent[], end: string) => sent.filter(({ path }) => path.endsWith(end));

  test("a failed message does not keep back the ones behind it", async () => {
    const { handler, of, running } = held();
    const { role, time, stop, start } = consuming({ handler });
    role.publish(
      { id: "a", partitionKey: "p" },
      { id: "b", partitionKey: "p" },
      { id: "x", partitionKey: "q" },
    );
    const work = start();
    await time.settle();
    expect(running()).toEqual(["a", "x"]);
    of("a").fail(new Error("bad"));
    await time.settle();
    expect(running()).toEqual(["a", "x", "b"]);
    stop.abort();
    of("b").end();
    of("x").end();
    expect(await work).toEqual(done);
    expect(role.decisions.sort()).toEqual(["ack b", "ack x", "nack a"]);
  });

  test("what waits behind a postponed message is postponed for as long", async () => {
    const { handler, of, running } = held();
    const { role, time, stop, start } = consuming({ handler });
    role.publish(
      { id: "a", partitionKey: "p" },
      { id: "b", partitionKey: "p" },
      { id: "x", partitionKey: "q" },
    );
    const work = start();
    await time.settle();
    void of("a").message.postpone(5000);
    await time.advance(1000);
    of("a").end();
    await time.settle();
    expect(running()).toEqual(["a", "x"]);
    expect(role.settlements).toMatchObject([
      { receipt: "a", action: "postpone", delayMs: 5000 },
      { receipt: "b", action: "postpone", delayMs: 4000 },
    ]);
    // A receive that was open had been granted one more: it must not overtake what is postponed.
    role.publish({ id: "c", partitionKey: "p" }, { id: "y", partitionKey: "q" });
    of("x").end();
    await time.settle();
    expect(running()).toEqual(["a", "x", "y"]);
    expect(role.decisions).toContain("postpone c");
    expect(role.settlements.find(({ receipt }) => receipt === "c")).toMatchObject({ delayMs: 4000 });
    // Due again, they come in their order, and the partition is free.
    await time.advance(4000);
    role.publish(
      { id: "a again", partitionKey: "p", offset: 1 },
      { id: "b again", partitionKey: "p", offset: 2 },
    );
    await time.settle();
    of("a again").end();
    await time.settle();
    expect(running()).toEqual(["a", "x", "y", "a again", "b again"]);
    expect(kinds(role.wire.sent, "/receive").length).toBeGreaterThan(1);
    of("b again").end();
    of("y").end();
    stop.abort();
    expect(await work).toEqual(done);
  });

  test.each([
    ["came too late", 0, "runs"],
    ["may have counted, its answer being lost", 1, "waits"],
  ] as const)("behind a postponement that %s (%i lost) the next message %s", async (_, answersLost, fate) => {
    const { handler, of, running } = held();
    const { role, time, stop, start } = consuming({ handler, onError: () => {}, onStale: () => {} });
    let lost: number = answersLost;
    role.trouble = (_, kind) => (kind === "settle" && lost-- > 0 ? brokenConnection() : undefined);
    // The repetition of what counted is stale as well.
    role.statusOf = ({ action }) => (action === "postpone" ? "stale" : "ok");
    role.publish({ id: "a", partitionKey: "p" }, { id: "x", partitionKey: "q" });
    const work = start();
    await time.settle();
    void of("a").message.postpone(5000);
    of("a").end();
    await time.advance(1000);
    role.publish({ id: "b", partitionKey: "p" });
    of("x").end();
    await time.settle();
    expect(running().includes("b")).toBe(fate === "runs");
    if (fate === "runs") of("b").end();
    stop.abort();
    await time.advance(3000);
    expect(await work).toEqual(done);
  });

  test("nothing overtakes a message that is to be given back", async () => {
    const seen: string[] = [];
    const { role, time, stop, start } = consuming({
      handler: ({ id }) => {
        seen.push(id);
        return id === "a" ? giveBack : undefined;
      },
    });
    role.publish(
      { id: "a", partitionKey: "p" },
      { id: "b", partitionKey: "p" },
      { id: "x", partitionKey: "q" },
    );
    const work = start();
    await time.advance(1000);
    expect(seen).toEqual(["a", "x"]);
    stop.abort();
    expect(await work).toEqual(done);
    expect(role.decisions).toEqual(["ack x"]);
    expect(role.left).toBe(1);
  });

  test("what is to be given back is kept alive, and takes its room, until the consumer stops", async () => {
    const { role, time, stop, start } = consuming({ concurrency: 1, handler: () => giveBack });
    role.publish({ id: "a" });
    const work = start();
    await time.settle();
    role.publish({ id: "b" });
    await time.advance(65_000);
    expect(role.extensions.length).toBeGreaterThan(2);
    expect(new Set(role.extensions.map(({ receipt }) => receipt))).toEqual(new Set(["a"]));
    expect([role.receives.length, role.left]).toEqual([1, 0]);
    stop.abort();
    expect(await work).toEqual(done);
    expect([role.decisions, role.left]).toEqual([[], 1]);
    expect(time.pendingTimers).toBe(0);
  });

  test("after a decision nothing is given back", async () => {
    const seen: string[] = [];
    const { role, time, stop, start } = consuming({
      handler: (message) => {
        seen.push(message.id);
        void message.nack("no");
        return giveBack;
      },
    });
    role.publish({ id: "a", partitionKey: "p" }, { id: "b", partitionKey: "p" });
    const work = start();
    await time.settle();
    expect(seen).toEqual(["a", "b"]);
    stop.abort();
    expect(await work).toEqual(done);
    expect(role.decisions).toEqual(["nack a", "nack b"]);
  });
});
