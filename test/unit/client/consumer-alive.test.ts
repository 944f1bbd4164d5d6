import { describe, expect, test } from "vitest";
import { consuming, done, held } from "./consuming.ts";
import { brokenConnection } from "./wire.ts";

describe("keeping alive", () => {
  test("extends what runs and what waits behind it, about a third of the timeout before the end", async () => {
    const { handler, of } = held();
    const { role, time, stop, start } = consuming({ handler });
    role.publish({ id: "a", partitionKey: "p" }, { id: "b", partitionKey: "p" });
    const work = start();
    await time.settle();
    await time.advance(70_000);
    const at = (id: string) =>
      role.extensions.filter(({ receipt }) => receipt === id).map(({ atMs }) => atMs - 5000);
    expect(at("a")).toEqual(at("b"));
    let before = 0;
    for (const atMs of at("a")) {
      // Never later than 20 s after the one before, nor much too early.
      expect(atMs - before).toBeLessThanOrEqual(20_000);
      expect(atMs - before).toBeGreaterThan(14_000);
      before = atMs;
    }
    expect(at("a").length).toBeGreaterThan(2);
    stop.abort();
    of("a").end();
    expect(await work).toEqual(done);
    expect(time.pendingTimers).toBe(0);
  });

  test("extends in requests of 100", async () => {
    const { handler, of } = held();
    const { role, time, stop, start } = consuming({ handler, concurrency: 250 });
    role.publish(...Array.from({ length: 250 }, (_, i) => ({ id: `m${i}` })));
    const work = start();
    await time.advance(25_000);
    const sizes = role.wire.sent
      .filter(({ path }) => path.endsWith("/settle"))
      .map(({ json }) => (json as { settlements: unknown[] }).settlements.length);
    expect(sizes).toEqual([100, 100, 50]);
    expect(new Set(role.extensions.map(({ atMs }) => atMs)).size).toBe(1);
    stop.abort();
    for (let i = 0; i < 250; i++) of(`m${i}`).end();
    expect(await work).toEqual(done);
  });

  test("a decided message is not extended, though its handler runs on", async () => {
    const { handler, of } = held();
    const { role, time, stop, start } = consuming({ handler });
    role.publish({ id: "m" });
    const work = start();
    await time.settle();
    void of("m").message.ack();
    await time.advance(70_000);
    expect(role.extensions).toEqual([]);
    stop.abort();
    of("m").end();
    expect(await work).toEqual(done);
    expect(role.decisions).toEqual(["ack m"]);
  });

  test("sends heartbeats where the lease is shorter than the visibility", async () => {
    const { handler, of } = held();
    const { role, time, stop, start } = consuming({ handler, concurrency: 1 });
    role.settings = { visibilityTimeoutMs: 600_000, leaseDurationMs: 3000 };
    role.publish({ id: "m" });
    const work = start();
    await time.advance(30_000);
    expect(role.heartbeats).toBeGreaterThan(20);
    expect(role.heartbeats).toBeLessThan(35);
    expect(role.extensions).toEqual([]);
    stop.abort();
    of("m").end();
    expect(await work).toEqual(done);
  });

  test("notices other settings of the group", async () => {
    const { handler, of } = held();
    const { role, time, stop, start } = consuming({ handler, concurrency: 1 });
    role.publish({ id: "m" });
    const work = start();
    await time.settle();
    role.settings = { visibilityTimeoutMs: 30_000, leaseDurationMs: 1000 };
    await time.advance(35_000);
    const before = role.heartbeats;
    await time.advance(10_000);
    expect(role.heartbeats - before).toBeGreaterThan(15);
    stop.abort();
    of("m").end();
    expect(await work).toEqual(done);
  });

  test("an extension that fails is tried again before the visibility ends", async () => {
    const { handler, of } = held();
    const { role, time, stop, errors, start } = consuming({ handler, concurrency: 1 });
    role.publish({ id: "m" });
    const work = start();
    await time.settle();
    let tries = 0;
    role.trouble = (_, kind) => (kind === "settle" && ++tries <= 2 ? brokenConnection() : undefined);
    await time.advance(29_000);
    expect(role.extensions).toHaveLength(1);
    expect(errors).toEqual(["extend FairlaneNetworkError", "extend FairlaneNetworkError"]);
    stop.abort();
    of("m").end();
    expect(await work).toEqual(done);
  });

  test.each(["stale", "settled", "invalid"] as const)(
    "a delivery that is answered %s is over: its handler is told, its decision is not sent",
    async (status) => {
      const { handler, of, running } = held();
      const { role, time, stop, stale, start } = consuming({ handler });
      role.publish({ id: "a", partitionKey: "p" }, { id: "b", partitionKey: "p" });
      role.statusOf = ({ action }) => (action === "extend" ? status : "ok");
      const work = start();
      await time.advance(25_000);
      expect(of("a").message.signal.reason).toMatchObject({ name: "StaleDeliveryError" });
      expect(stale).toEqual([`extend a ${status}`, `extend b ${status}`]);
      expect(await of("a").message.ack()).toBe(status);
      of("a").end();
      await time.settle();
      // It had not begun: another subscriber has it.
      expect(running()).toEqual(["a"]);
      expect(role.decisions).toEqual([]);
      role.publish({ id: "c", partitionKey: "p" });
      await time.settle();
      expect(running()).toEqual(["a", "c"]);
      stop.abort();
      of("c").end();
      expect(await work).toEqual(done);
      expect(stale).toHaveLength(2);
    },
  );

  test("a message that comes again while it is held ends the older delivery", async () => {
    const { handler, of } = held();
    const { role, time, stop, stale, start } = consuming({ handler });
    role.publish({ id: "m", offset: 7 });
    const work = start();
    await time.settle();
    const first = of("m");
    role.publish({ id: "m", offset: 7, receipt: "m/2", attempt: 2 });
    await time.settle();
    expect(stale).toEqual(["extend m stale"]);
    expect(first.message.signal.aborted).toBe(true);
    first.end();
    await time.settle();
    expect(of("m").message).toMatchObject({ attempt: 2, signal: { aborted: false } });
    stop.abort();
    of("m").end();
    expect(await work).toEqual(done);
    expect(role.decisions).toEqual(["ack m/2"]);
    expect(stale).toHaveLength(1);
  });

  test("a handler may extend by itself, and hears the answer", async () => {
    const { handler, of } = held();
    const { role, time, stop, start } = consuming({ handler });
    role.publish({ id: "m" });
    const work = start();
    await time.settle();
    expect(await of("m").message.extend(1000)).toBe("ok");
    expect(role.extensions).toMatchObject([{ receipt: "m", visibilityTimeoutMs: 1000 }]);
    // The short one is kept alive as well.
    await time.advance(900);
    expect(role.extensions[1]?.atMs).toBeLessThan(6000);
    role.trouble = (_, kind) => (kind === "settle" ? brokenConnection() : undefined);
    expect(await of("m").message.extend(5000)).toBe("unknown");
    role.trouble = () => undefined;
    stop.abort();
    of("m").end();
    expect(await work).toEqual(done);
    expect(() => of("m").message.extend(5000)).toThrow(/decided already, by ack/);
  });
});
