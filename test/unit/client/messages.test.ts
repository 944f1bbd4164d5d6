import { describe, expect, test } from "vitest";
import type { Message, MessagesOptions } from "../../../src/client/fairlane.ts";
import { GroupRole } from "./group-role.ts";
import { brokenConnection, outcomeOf, problem } from "./wire.ts";

function looping(options: Partial<MessagesOptions> = {}) {
  const role = new GroupRole();
  const stop = new AbortController();
  const stale: string[] = [];
  const loop = role.wire.client().messages("t", {
    group: "g",
    signal: stop.signal,
    onStale: ({ message, action, status }) => stale.push(`${action} ${message.id} ${status}`),
    onError: () => {},
    ...options,
  });
  const next = async (): Promise<Message | null> => {
    const { value, done } = await loop.next();
    return done ? null : value;
  };
  return { role, time: role.wire.time, stop, stale, loop, next };
}

const ids = (...names: string[]) => names.map((id) => ({ id, partitionKey: "p" }));

describe("a loop over messages", () => {
  test("asks for nothing before it begins", async () => {
    const { role, time } = looping();
    await time.settle();
    expect(role.wire.sent).toEqual([]);
  });

  test("has one message in hand, and asking for the next one acks it", async () => {
    const { role, time, next, stop } = looping();
    role.publish(...ids("a", "b"));
    expect(await next()).toMatchObject({ id: "a" });
    await time.advance(1000);
    expect(role.receives).toMatchObject([{ maxMessages: 1 }]);
    expect(role.decisions).toEqual([]);
    expect(await next()).toMatchObject({ id: "b" });
    expect(role.decisions).toEqual(["ack a"]);
    stop.abort();
    expect(await next()).toBeNull();
    expect(role.decisions).toEqual(["ack a", "ack b"]);
    expect(role.left).toBe(1);
    expect(time.pendingTimers).toBe(0);
    expect(await next()).toBeNull();
  });

  test("what the loop decided is not decided again", async () => {
    const { role, next, stop } = looping();
    role.publish(...ids("a", "b"), { id: "c" });
    expect(await (await next())?.nack("no")).toBe("ok");
    await (await next())?.postpone(5);
    await (await next())?.ack();
    stop.abort();
    expect(await next()).toBeNull();
    expect(role.decisions).toEqual(["nack a", "postpone b", "ack c"]);
  });

  test("leaving it gives back what is in hand, undecided", async () => {
    const { role, time, loop } = looping({ prefetch: 2 });
    role.publish(...ids("a", "b"), { id: "c" });
    const seen: string[] = [];
    for await (const { id } of loop) {
      seen.push(id);
      if (seen.length === 2) break;
    }
    expect(seen).toEqual(["a", "c"]);
    expect(role.decisions).toEqual(["ack a"]);
    expect(role.left).toBe(1);
    expect(time.pendingTimers).toBe(0);
  });

  test("leaving it after a decision sends that, and nothing else", async () => {
    const { role, loop } = looping();
    role.publish(...ids("a"));
    for await (const message of loop) {
      void message.reject("never");
      break;
    }
    expect(role.decisions).toEqual(["reject a"]);
    expect(role.left).toBe(1);
  });

  test("an error in it comes out as it is, and gives back", async () => {
    const { role, loop } = looping();
    role.publish(...ids("a"));
    const work = (async () => {
      for await (const _ of loop) throw new Error("in the loop");
    })();
    await expect(work).rejects.toThrow("in the loop");
    expect(role.decisions).toEqual([]);
    expect(role.left).toBe(1);
  });

  test("keeps the message alive while the body runs", async () => {
    const { role, time, next, stop } = looping();
    role.publish(...ids("a"));
    await next();
    await time.advance(60_000);
    expect(role.extensions.length).toBeGreaterThan(1);
    stop.abort();
    await next();
  });

  test("holds as many more as it was told, and of a partition one after the other", async () => {
    const { role, time, next, stop } = looping({ prefetch: 3 });
    role.publish(...ids("a", "b"), { id: "x" }, { id: "y" }, { id: "z" });
    expect(await next()).toMatchObject({ id: "a" });
    await time.settle();
    expect(role.due.map(({ id }) => id)).toEqual(["z"]);
    const seen = [];
    for (let i = 0; i < 4; i++) seen.push((await next())?.id);
    expect([...seen].sort()).toEqual(["b", "x", "y", "z"]);
    stop.abort();
    expect(await next()).toBeNull();
  });

  test("the signal ends it after the message in hand; what was held is given back", async () => {
    const { role, time, next, stop } = looping({ prefetch: 2 });
    role.publish({ id: "a" }, { id: "b" }, { id: "c" });
    await next();
    await time.settle();
    stop.abort();
    await time.settle();
    expect(role.left).toBe(0);
    expect(await next()).toBeNull();
    expect(role.decisions).toEqual(["ack a"]);
    expect(role.left).toBe(1);
  });

  test("a body that takes longer than drainMs hears that it was too late", async () => {
    const { role, time, next, stop, stale } = looping({ drainMs: 1000 });
    role.publish({ id: "a" });
    const message = await next();
    stop.abort();
    await time.advance(2000);
    expect(message?.signal.reason).toMatchObject({ name: "DrainTimeoutError" });
    expect(role.left).toBe(1);
    expect(await next()).toBeNull();
    await time.settle();
    expect(stale).toEqual(["ack a stale"]);
    expect(role.decisions).toEqual([]);
  });

  test("goes on through trouble, and ends with a refusal for good", async () => {
    const { role, time, next } = looping();
    let troubles = 3;
    role.trouble = (_, kind) => (kind === "receive" && troubles-- > 0 ? brokenConnection() : undefined);
    role.publish({ id: "a" });
    const first = next();
    await time.advance(5000);
    expect(await first).toMatchObject({ id: "a" });
    role.trouble = (_, kind) => (kind === "receive" ? problem(403, "forbidden") : undefined);
    const refused = outcomeOf(next());
    await time.advance(5000);
    expect(await refused).toMatchObject({ error: { status: 403 } });
    expect(role.decisions).toEqual(["ack a"]);
    expect(await next()).toBeNull();
  });

  test.each([-1, 1000, 0.5])("a prefetch of %d is refused", (prefetch) => {
    expect(() => looping({ prefetch })).toThrow(/prefetch/);
  });
});
