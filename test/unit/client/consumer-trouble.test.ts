import { describe, expect, test, vi } from "vitest";
import { consuming, done, held } from "./consuming.ts";
import { GroupRole } from "./group-role.ts";
import { brokenConnection, json, problem } from "./wire.ts";

describe("trouble", () => {
  test.each([
    ["a lost connection", () => brokenConnection(), "FairlaneNetworkError"],
    ["503", () => problem(503, "store-unavailable"), "FairlaneApiError"],
    ["500", () => problem(500, "internal"), "FairlaneApiError"],
    ["429", () => problem(429, "rate-limited"), "FairlaneApiError"],
  ])("goes on after %s, more slowly each time, and tells it once a try", async (_, answer, name) => {
    const seen: string[] = [];
    const { role, time, stop, errors, start } = consuming({ handler: ({ id }) => seen.push(id) });
    const tries: number[] = [];
    role.trouble = ({ atMs }, kind) => {
      if (kind !== "receive" || tries.length >= 8) return undefined;
      tries.push(atMs);
      return answer();
    };
    const work = start();
    await time.advance(60_000);
    expect(errors).toEqual(Array(8).fill(`receive ${name}`));
    const waits = tries.slice(1).map((atMs, i) => atMs - (tries[i] as number));
    expect(waits).toEqual([75, 150, 300, 600, 1200, 2400, 4800]);
    role.publish({ id: "m" });
    await time.settle();
    expect(seen).toEqual(["m"]);
    stop.abort();
    expect(await work).toEqual(done);
  });

  test("waits as long as the server asks", async () => {
    const { role, time, stop, start } = consuming({ handler: () => {} });
    let refused = 0;
    role.trouble = (_, kind) => {
      if (kind !== "receive" || refused > 0) return undefined;
      refused += 1;
      return problem(429, "rate-limited", { "retry-after": "2" });
    };
    const work = start();
    await time.advance(2199);
    expect(role.receives).toEqual([]);
    await time.advance(1);
    expect(role.receives).toHaveLength(1);
    stop.abort();
    expect(await work).toEqual(done);
  });

  test.each([
    [400, "invalid-request"],
    [401, "unauthorized"],
    [403, "forbidden"],
    [404, "unknown-tenant"],
    [404, "not-found"],
  ])("%i %s ends it with that error, after what runs has ended", async (status, code) => {
    const { handler, of } = held();
    const { role, time, start } = consuming({ handler, concurrency: 2 });
    role.publish({ id: "m" });
    const work = start();
    await time.settle();
    role.trouble = (_, kind) => (kind === "receive" ? problem(status, code) : undefined);
    // The receive that is open ends, and the next one is refused.
    role.publish({ id: "n" });
    await time.settle();
    of("n").end();
    await time.advance(100);
    expect(role.left).toBe(0);
    of("m").end();
    await time.advance(1000);
    expect(await work).toMatchObject({ error: { name: "FairlaneApiError", status, code } });
    expect(role.decisions.sort()).toEqual(["ack m", "ack n"]);
    expect(role.left).toBeGreaterThan(0);
    expect(time.pendingTimers).toBe(0);
  });

  test.each([
    ["a page in place of a reply", () => new Response("<html>", { status: 200 })],
    ["a proxy's own 404", () => new Response("<html>", { status: 404 })],
    ["a reply without a list", () => json({})],
  ])("%s passes, once the server has answered; before, it is a wrong address", async (_, odd) => {
    const { role, time, stop, errors, start } = consuming({ handler: () => {} });
    let answered = 0;
    role.trouble = (_request, kind) => {
      if (kind !== "receive" && kind !== "settle") return undefined;
      answered += 1;
      return answered % 2 === 1 ? odd() : undefined;
    };
    role.publish({ id: "m" });
    const work = start();
    await time.advance(3000);
    expect(role.decisions).toEqual(["ack m"]);
    expect(errors).toContain("receive FairlaneApiError");
    expect(errors).toContain("settle FairlaneApiError");
    stop.abort();
    await time.advance(3000);
    expect(await work).toEqual(done);

    const wrong = consuming({ handler: () => {} });
    wrong.role.trouble = () => new Response("<html>", { status: 200 });
    const refused = wrong.start();
    await wrong.time.advance(3000);
    expect(await refused).toMatchObject({ error: { code: "unexpected-reply" } });
  });

  test("a body that cannot be read ends it", async () => {
    const { role, time, start } = consuming({ handler: () => {} });
    role.publish({ id: "m" });
    Object.assign(role.due[0] as object, { body: undefined, bodyBase64: "A" });
    const work = start();
    await time.advance(1000);
    expect(await work).toMatchObject({ error: { message: expect.stringContaining("base64") } });
  });

  test("what onError or onStale throws ends it, and is told", async () => {
    const onError = () => {
      throw new Error("no pager");
    };
    const { role, time, start } = consuming({
      onError,
      handler: () => {
        throw new Error("bad");
      },
    });
    role.publish({ id: "m" });
    const work = start();
    await time.advance(1000);
    expect(await work).toMatchObject({ error: { message: "no pager" } });
    expect(role.decisions).toEqual(["nack m"]);
  });

  test("without functions that hear of it, the console does, and it shows neither token nor body", async () => {
    const warn = vi.spyOn(console, "warn").mockImplementation(() => {});
    try {
      const role = new GroupRole();
      role.publish({ id: "m", body: "secret" });
      role.statusOf = () => "stale";
      const stop = new AbortController();
      const work = role.wire
        .client({ token: "tok.en" })
        .consume("t", { group: "g", handler: () => {}, signal: stop.signal });
      await role.wire.time.settle();
      role.trouble = (_, kind) => (kind === "receive" ? brokenConnection() : undefined);
      role.publish({ id: "n", body: "secret" });
      await role.wire.time.settle();
      stop.abort();
      await work;
      const said = warn.mock.calls.map(([text]) => text as string);
      expect(said).toContainEqual(
        expect.stringMatching(
          /^fairlane: t\/g: the ack of message "m" in partition ".*" \(offset 1\) was answered stale$/,
        ),
      );
      expect(said).toContain(
        "fairlane: t/g: receive: the connection to http://queue.test failed (ECONNRESET)",
      );
      expect(said.join()).not.toMatch(/secret|tok\.en/);
    } finally {
      warn.mockRestore();
    }
  });

  test.each([
    ["handler", { handler: 1 as never }],
    ["concurrency", { concurrency: 0 }],
    ["concurrency", { concurrency: 1001 }],
    ["concurrency", { concurrency: 1.5 }],
    ["visibilityTimeoutMs", { visibilityTimeoutMs: 999 }],
    ["drainMs", { drainMs: -1 }],
    ["subscriber", { subscriber: "A" }],
    ["group", { group: "../g" }],
  ])("a bad %s is refused before anything is sent", async (name, options) => {
    const { role, start } = consuming({ handler: () => {}, ...options });
    const outcome = (await start()) as { error: Error };
    expect(outcome.error).toBeInstanceOf(TypeError);
    expect(outcome.error.message).toContain(name);
    expect(role.wire.sent).toEqual([]);
  });
});
