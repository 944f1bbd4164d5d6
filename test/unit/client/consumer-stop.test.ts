import { describe, expect, test } from "vitest";
import { consuming, done, held } from "./consuming.ts";
import { brokenConnection, hang, json, problem } from "./wire.ts";

describe("stopping", () => {
  test("before it began, nothing is sent", async () => {
    const { role, stop, start } = consuming({ handler: () => {} });
    stop.abort();
    expect(await start()).toEqual(done);
    expect(role.wire.sent).toEqual([]);
  });

  test("while it waits for the first settings, nothing is left", async () => {
    const { role, time, stop, start } = consuming({ handler: () => {} });
    role.trouble = (_, kind) => (kind === "settings" ? hang() : undefined);
    const work = start();
    await time.settle();
    stop.abort();
    expect(await work).toEqual(done);
    expect(role.left).toBe(0);
    expect(role.wire.sent[0]?.signal.aborted).toBe(true);
    expect(time.pendingTimers).toBe(0);
  });

  test("idle, leaving ends the receive that is open, without any waiting", async () => {
    const { role, time, stop, start } = consuming({ handler: () => {} });
    const work = start();
    await time.settle();
    stop.abort();
    expect(await work).toEqual(done);
    expect(role.left).toBe(1);
    expect(role.wire.sent.filter(({ path }) => path.endsWith("/receive"))).toMatchObject([
      { signal: { aborted: false } },
    ]);
  });

  test("a receive that leaving does not end is called off, and left once more", async () => {
    const { role, time, stop, start } = consuming({ handler: () => {} });
    role.trouble = (_, kind) => (kind === "receive" ? hang() : undefined);
    const work = start();
    await time.settle();
    stop.abort();
    await time.advance(249);
    expect(role.wire.sent[1]?.signal.aborted).toBe(false);
    // The server may still be at it when it is called off.
    await time.advance(250);
    expect(role.wire.sent[1]?.signal.aborted).toBe(true);
    expect(role.left).toBe(1);
    await time.advance(1);
    expect(await work).toEqual(done);
    expect(role.left).toBe(2);
    expect(time.pendingTimers).toBe(0);
  });

  test("handlers that end soon leave the receive to be ended by leaving", async () => {
    const { handler, of } = held();
    const { role, time, stop, start } = consuming({ handler });
    role.publish({ id: "a" });
    const work = start();
    await time.settle();
    stop.abort();
    await time.advance(99);
    of("a").end();
    expect(await work).toEqual(done);
    const receives = role.wire.sent.filter(({ path }) => path.endsWith("/receive"));
    expect(receives.map(({ signal }) => signal.aborted)).toEqual([false, false]);
    expect(role.left).toBe(1);
  });

  test("a receive that was called off just before the leaving is left twice", async () => {
    const { handler, of } = held();
    const { role, time, stop, start } = consuming({ handler });
    role.publish({ id: "a" });
    const work = start();
    await time.settle();
    stop.abort();
    await time.advance(150);
    of("a").end();
    await time.settle();
    expect(role.left).toBe(1);
    await time.advance(200);
    expect(await work).toEqual(done);
    expect(role.left).toBe(2);
  });

  test("what a receive brings after the stop is not handled, and given back", async () => {
    const seen: string[] = [];
    const { role, time, stop, start } = consuming({ handler: ({ id }) => seen.push(id) });
    let answer: (response: Response) => void = () => {};
    role.trouble = (_, kind) =>
      kind === "receive"
        ? new Promise<Response>((resolve) => {
            answer = resolve;
          })
        : undefined;
    const work = start();
    await time.settle();
    role.publish({ id: "m" });
    stop.abort();
    answer(json({ deliveries: role.due.splice(0), partitions: [], partitionsHeld: 0 }));
    await time.advance(100);
    expect(await work).toEqual(done);
    expect(seen).toEqual([]);
    expect(role.left).toBe(2);
  });

  test("lets handlers end, keeps them alive, settles, and then leaves", async () => {
    const { handler, of, running } = held();
    const { role, time, stop, start } = consuming({ handler, drainMs: 60_000 });
    role.publish({ id: "a", partitionKey: "p" }, { id: "b", partitionKey: "p" });
    const work = start();
    await time.settle();
    const receive = role.wire.sent.find(({ path }, i) => i > 1 && path.endsWith("/receive"));
    stop.abort();
    await time.advance(100);
    expect(receive?.signal.aborted).toBe(true);
    await time.advance(40_000);
    expect(role.left).toBe(0);
    expect(role.extensions.map(({ receipt }) => receipt)).toEqual(["a", "b", "a", "b"]);
    of("a").end();
    expect(await work).toEqual(done);
    expect(role.decisions).toEqual(["ack a"]);
    expect(running()).toEqual(["a"]);
    expect(role.left).toBe(1);
    const paths = role.wire.sent.map(({ path }) => path);
    expect(paths.at(-1)).toContain("/subscribers/");
    expect(time.pendingTimers).toBe(0);
  });

  test("handlers that hang are told, and may still decide for a moment", async () => {
    const { handler, of } = held();
    const { role, time, stop, stale, errors, start } = consuming({ handler, drainMs: 1000 });
    role.publish({ id: "hangs" }, { id: "decides" }, { id: "throws" });
    const work = start();
    await time.settle();
    of("decides").message.signal.addEventListener("abort", () => void of("decides").message.nack("no time"));
    of("throws").message.signal.addEventListener("abort", () => of("throws").fail(new Error("aborted")));
    stop.abort();
    await time.advance(999);
    expect(of("hangs").message.signal.aborted).toBe(false);
    await time.advance(1);
    expect(of("hangs").message.signal.reason).toMatchObject({ name: "DrainTimeoutError" });
    await time.advance(100);
    expect(await work).toEqual(done);
    // One that gave up because it was told to has not failed: it is given back.
    expect(role.decisions).toEqual(["nack decides"]);
    expect(role.left).toBe(1);
    expect(errors).toEqual(["drain hangs DrainTimeoutError", "drain decides DrainTimeoutError"]);
    of("hangs").end();
    await time.settle();
    expect(stale).toEqual(["ack hangs stale"]);
  });

  test("final settlements have their time, and what is left of them is told", async () => {
    const { handler, of } = held();
    const { role, time, stop, stale, start } = consuming({ handler, onError: () => {} });
    role.publish({ id: "m" });
    const work = start();
    await time.settle();
    role.trouble = (_, kind) => (kind === "settle" ? brokenConnection() : undefined);
    stop.abort();
    of("m").end();
    await time.advance(9999);
    expect(stale).toEqual([]);
    await time.advance(1);
    expect(await work).toEqual(done);
    expect(stale).toEqual(["ack m unknown"]);
    expect(role.left).toBe(1);
  });

  test("leaving a server that is gone ends after a while, and is told", async () => {
    const { role, time, stop, errors, start } = consuming({ handler: () => {} });
    const work = start();
    await time.settle();
    role.trouble = () => hang();
    stop.abort();
    await time.advance(6500);
    expect(await work).toEqual(done);
    expect(errors).toEqual(["leave Error", "leave Error"]);
    expect(time.pendingTimers).toBe(0);
  });

  test("a group that is gone has been left", async () => {
    const { role, time, stop, errors, start } = consuming({ handler: () => {} });
    const work = start();
    await time.settle();
    role.trouble = (_, kind) => (kind === "leave" ? problem(404, "not-found") : undefined);
    stop.abort();
    await time.advance(1000);
    expect(await work).toEqual(done);
    expect(errors).toEqual([]);
  });
});
