import { describe, expect, test } from "vitest";
import type { ConsumeOptions, OwnRoute } from "../../../src/client/fairlane.ts";
import { consuming, done, held } from "./consuming.ts";
import type { GroupRole } from "./group-role.ts";
import { brokenConnection, hang, problem, Wire } from "./wire.ts";

const filter = { header: "x-dev", equals: "alice" } as const;
const own = (more: Partial<OwnRoute> = {}): OwnRoute => ({ name: "alice", filter, ttlMs: 30_000, ...more });
const START_MS = 5000;

function onRoute(route: ConsumeOptions["route"], more: Partial<ConsumeOptions> = {}) {
  const { handler, of } = held();
  return { ...consuming({ handler, concurrency: 1, route, ...more }), of };
}

const putsOf = (role: GroupRole) =>
  role.routeCalls.filter(({ what }) => what === "put alice").map(({ atMs }) => atMs - START_MS);
const callsOf = (role: GroupRole) => role.routeCalls.map(({ what }) => what);

describe("a consumer without a route", () => {
  test("names none", async () => {
    const { role, time, stop, start } = onRoute(undefined);
    const work = start();
    await time.settle();
    stop.abort();
    expect(await work).toEqual(done);
    expect(role.receives.every((receive) => !("route" in receive))).toBe(true);
    expect(role.routeCalls).toEqual([]);
  });
});

describe("a consumer that attaches to a route", () => {
  test("names it in each receive, and neither starts, renews nor ends it", async () => {
    const { role, time, stop, start } = onRoute("alice");
    const work = start();
    await time.advance(70_000);
    stop.abort();
    expect(await work).toEqual(done);
    expect(role.receives.length).toBeGreaterThan(2);
    expect(new Set(role.receives.map(({ route }) => route))).toEqual(new Set(["alice"]));
    expect(role.routeCalls).toEqual([]);
    expect(role.left).toBeGreaterThan(0);
  });

  test("ends with a clear error when it is gone, after what runs", async () => {
    const { role, time, start, of } = onRoute("alice", { concurrency: 2 });
    role.publish({ id: "m" });
    const work = start();
    await time.settle();
    role.trouble = (_, kind) => (kind === "receive" ? problem(404, "not-found") : undefined);
    role.publish({ id: "wakes the receive" });
    await time.settle();
    of("wakes the receive").end();
    await time.advance(100);
    of("m").end();
    await time.advance(1000);
    expect(await work).toEqual({
      error: expect.objectContaining({
        name: "RouteGoneError",
        route: "alice",
        message: "there is no route alice: it was not started, was ended, or expired",
      }),
    });
    expect(role.decisions).toContain("ack m");
    expect(role.left).toBeGreaterThan(0);
  });

  test("goes on through trouble, as any other", async () => {
    const { role, time, stop, errors, start } = onRoute("alice");
    role.trouble = (_, kind) => (kind === "receive" ? problem(503, "store-unavailable") : undefined);
    const work = start();
    await time.settle();
    role.trouble = () => undefined;
    await time.advance(1000);
    stop.abort();
    expect(await work).toEqual(done);
    expect(errors).toEqual(["receive FairlaneApiError"]);
  });
});

describe("a consumer with a route of its own", () => {
  test("starts it before its first receive, and ends it after it left", async () => {
    const { role, time, stop, start } = onRoute(own());
    const work = start();
    await time.settle();
    stop.abort();
    expect(await work).toEqual(done);
    const order = role.wire.sent.map(({ method, path }) => `${method} ${path.split("/").slice(8, 9)}`);
    const end = order.lastIndexOf("DELETE routes");
    expect(order.indexOf("PUT routes")).toBeLessThan(order.indexOf("POST receive"));
    expect(end).toBeGreaterThan(order.lastIndexOf("DELETE subscribers"));
    expect(end).toBe(order.length - 1);
    expect(role.routeCalls[0]?.body).toEqual({ filter, ttlMs: 30_000 });
    expect(role.receives[0]?.route).toBe("alice");
    expect(time.pendingTimers).toBe(0);
  });

  test("renews it thrice in its time while a handler runs for longer, and while it drains", async () => {
    const { role, time, stop, start, of } = onRoute(own(), { drainMs: 100_000 });
    role.publish({ id: "m" });
    const work = start();
    await time.advance(65_000);
    stop.abort();
    await time.advance(60_000);
    expect(putsOf(role)).toEqual([0, 10, 20, 30, 40, 50, 60, 70, 80, 90, 100, 110, 120].map((s) => s * 1000));
    of("m").end();
    expect(await work).toEqual(done);
    expect(callsOf(role).at(-1)).toBe("end alice");
    expect(time.pendingTimers).toBe(0);
  });

  test("leaves it to its expiry where it is to be kept", async () => {
    const { role, time, stop, start } = onRoute(own({ keep: true }));
    const work = start();
    await time.settle();
    stop.abort();
    expect(await work).toEqual(done);
    await time.advance(60_000);
    expect(callsOf(role)).toEqual(["put alice"]);
    expect(time.pendingTimers).toBe(0);
  });

  test("starts it again and attaches again when a receive does not find it", async () => {
    const { role, time, stop, errors, start } = onRoute(own());
    let receives = 0;
    role.trouble = (_, kind) =>
      kind === "receive" && ++receives === 2 ? problem(404, "not-found") : undefined;
    const work = start();
    // The first one waits for its whole time.
    await time.advance(22_000);
    expect(putsOf(role)).toEqual([0, 10_000, 20_000, 20_075]);
    expect(role.receives.map(({ route }) => route)).toEqual(["alice", "alice"]);
    expect(errors).toEqual(["receive RouteGoneError"]);
    // From its last start on.
    await time.advance(10_000);
    expect(putsOf(role).slice(4)).toEqual([30_075]);
    stop.abort();
    expect(await work).toEqual(done);
  });

  test("goes on trying where each receive does not find it, ever more slowly", async () => {
    const { role, time, stop, errors, start } = onRoute(own());
    role.trouble = (_, kind) => (kind === "receive" ? problem(404, "not-found") : undefined);
    const work = start();
    await time.advance(60_000);
    expect(errors.length).toBeGreaterThan(5);
    expect(errors.length).toBeLessThan(15);
    stop.abort();
    expect(await work).toEqual(done);
  });

  test("where another route takes some of its messages, says which and what, and ends nothing", async () => {
    const { role, start } = onRoute(own());
    const witness = { headers: { "x-dev": "alice" } };
    role.trouble = (_, kind) =>
      kind === "put-route" ? problem(409, "route-overlap", {}, { route: "bob", witness }) : undefined;
    expect(await start()).toEqual({
      error: expect.objectContaining({ code: "route-overlap", route: "bob", witness }),
    });
    expect(callsOf(role)).toEqual([]);
    expect(role.receives).toEqual([]);
  });

  test("a renewal that meets another's route ends consuming; what runs may end", async () => {
    const { role, time, start, of } = onRoute(own());
    role.publish({ id: "m" });
    const work = start();
    await time.settle();
    role.trouble = (_, kind) => (kind === "put-route" ? problem(409, "route-overlap") : undefined);
    await time.advance(10_000);
    of("m").end();
    await time.advance(100);
    expect(await work).toEqual({ error: expect.objectContaining({ code: "route-overlap" }) });
    expect(role.decisions).toEqual(["ack m"]);
    expect(time.pendingTimers).toBe(0);
  });

  test("a renewal that fails is tried again before the route expires, and told", async () => {
    const { role, time, stop, errors, start, of } = onRoute(own());
    role.publish({ id: "m" });
    const work = start();
    await time.settle();
    role.trouble = (_, kind) => (kind === "put-route" ? brokenConnection() : undefined);
    await time.advance(12_000);
    role.trouble = () => undefined;
    await time.advance(10_000);
    const renewals = putsOf(role);
    expect(renewals[1]).toBeLessThan(15_000);
    expect(errors.length).toBeGreaterThan(0);
    expect(new Set(errors)).toEqual(new Set(["route FairlaneNetworkError"]));
    stop.abort();
    of("m").end();
    expect(await work).toEqual(done);
  });

  test("starting goes on through trouble until it is stopped, and ends what may be there", async () => {
    const { role, time, stop, errors, start } = onRoute(own());
    role.trouble = (_, kind) => (kind === "put-route" ? brokenConnection() : undefined);
    const work = start();
    await time.advance(2000);
    expect(errors.length).toBeGreaterThan(2);
    expect(new Set(errors)).toEqual(new Set(["receive FairlaneNetworkError"]));
    stop.abort();
    expect(await work).toEqual(done);
    expect(callsOf(role)).toEqual(["end alice"]);
  });

  test("a renewal under way is over before the route is ended: it could start it anew", async () => {
    const { role, time, stop, start, of } = onRoute(own());
    role.publish({ id: "m" });
    const work = start();
    await time.settle();
    let answer: (response: Response) => void = () => {};
    role.trouble = (_, kind) =>
      kind === "put-route"
        ? new Promise((resolve) => {
            answer = resolve;
          })
        : undefined;
    await time.advance(10_000);
    stop.abort();
    of("m").end();
    await time.advance(1000);
    expect(callsOf(role)).toEqual(["put alice"]);
    role.trouble = () => undefined;
    answer(new Response("{}"));
    await time.settle();
    expect(await work).toEqual(done);
    expect(callsOf(role)).toEqual(["put alice", "end alice"]);
    expect(time.pendingTimers).toBe(0);
  });

  test("an end that fails is told, and holds the stop up for seconds only", async () => {
    const { role, time, stop, errors, start } = onRoute(own());
    const work = start();
    await time.settle();
    role.trouble = (_, kind) => (kind === "end-route" ? hang() : undefined);
    stop.abort();
    await time.advance(3000);
    expect(await work).toEqual(done);
    expect(errors).toEqual(["route Error"]);
  });

  test("one that is gone already has ended", async () => {
    const { role, time, stop, errors, start } = onRoute(own());
    const work = start();
    await time.settle();
    role.trouble = (_, kind) => (kind === "end-route" ? problem(404, "not-found") : undefined);
    stop.abort();
    expect(await work).toEqual(done);
    expect(errors).toEqual([]);
  });

  test("a loop of messages has it as well", async () => {
    const { role, time, stop } = onRoute(undefined);
    role.publish({ id: "m" });
    const client = role.wire.client();
    for await (const message of client.messages("t", { group: "g", route: own(), signal: stop.signal })) {
      expect(message.id).toBe("m");
      break;
    }
    expect(callsOf(role)).toEqual(["put alice", "end alice"]);
    expect(time.pendingTimers).toBe(0);
  });
});

describe("options that cannot be", () => {
  test.each<[string, unknown]>([
    ["the name of the route must match", "Alice"],
    ["the name of the route must be a string", { filter }],
    ["filter must be an object", { name: "alice" }],
    ["filter must be an object", { name: "alice", filter: "x-dev=alice" }],
    ["ttlMs must be an integer from 1000 to 86400000", own({ ttlMs: 999 })],
    ["ttlMs must be an integer from 1000 to 86400000", own({ ttlMs: 86_400_001 })],
    ["ttl is not an option of route", { ...own(), ttl: "30s" }],
    ["route needs an object of options", null],
    ["route needs an object of options", 7],
  ])("%s", async (words, route) => {
    const wire = new Wire(() => hang());
    const options = { group: "g", handler: () => {}, route: route as OwnRoute };
    await expect(wire.client().consume("t", options)).rejects.toThrow(TypeError);
    await expect(wire.client().consume("t", options)).rejects.toThrow(words);
    expect(wire.sent).toEqual([]);
  });
});
