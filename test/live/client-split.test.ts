import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type ConsumeOptions, FairlaneApiError, RouteGoneError } from "../../src/client/fairlane.ts";
import { clientOf, Gate } from "./client.ts";
import { freshTopic, type Live, setup, until, untilClock } from "./harness.ts";
import { dev, messagesFor, routesOf } from "./split-calls.ts";

let live: Live;
beforeAll(async () => {
  live = await setup();
});
afterAll(() => live?.close());

const FILTER = { header: "x-dev", equals: "alice" } as const;
const OWN = { name: "alice", filter: FILTER, ttlMs: 1000 };

/** A consumer that runs until it is stopped, and what it handled. */
function consuming(topic: string, more: Partial<ConsumeOptions> = {}) {
  const stop = new AbortController();
  const handled: string[] = [];
  const errors: string[] = [];
  const done = clientOf(live).consume(topic, {
    group: "g",
    handler: ({ id }) => void handled.push(id),
    signal: stop.signal,
    onError: (error, { phase }) => errors.push(`${phase} ${(error as Error).name}`),
    ...more,
  });
  // Told where it is awaited.
  done.catch(() => {});
  const end = () => {
    stop.abort();
    return done;
  };
  return { handled, errors, done, stop: end };
}

const has = (handled: readonly string[], count: number) =>
  until(`${count} of ${handled.join(" ")}`, async () => handled.length >= count);

describe.concurrent("a consumer with a route of its own", () => {
  test("gets its messages beside the application, and gives back the rest when it stops", async () => {
    const topic = freshTopic();
    const application = consuming(topic);
    const alice = consuming(topic, { route: OWN });
    await until("the route", async () => (await routesOf(live, topic).get("alice")).status === 200);
    await live.api("demo").publish(topic, messagesFor(["a1", "m1", "a2", "b1"]));
    await has(alice.handled, 2);
    await has(application.handled, 2);
    await alice.stop();
    expect((await routesOf(live, topic).get("alice")).status).toBe(404);
    await live.api("demo").publish(topic, messagesFor(["a3"]));
    await has(application.handled, 3);
    await application.stop();
    expect(alice.handled).toEqual(["a1", "a2"]);
    expect(application.handled).toEqual(["m1", "b1", "a3"]);
    expect([...alice.errors, ...application.errors]).toEqual([]);
  });

  test("keeps it while a handler runs for longer than its time, and nobody receives", async () => {
    const topic = freshTopic();
    const begun = new Gate();
    const end = new Gate();
    const alice = consuming(topic, {
      route: OWN,
      concurrency: 1,
      visibilityTimeoutMs: 30_000,
      handler: async () => {
        begun.open();
        await end.opened;
      },
    });
    await live.api("demo").publish(topic, messagesFor(["a1"]));
    await begun.opened;
    const { startedAt } = (await routesOf(live, topic).get("alice")).json;
    await untilClock(Date.now() + 2500);
    expect((await routesOf(live, topic).get("alice")).json).toMatchObject({ startedAt, inFlight: 1 });
    end.open();
    await alice.stop();
    expect(alice.errors).toEqual([]);
  });

  test("leaves it to its expiry where it is to be kept", async () => {
    const topic = freshTopic();
    const alice = consuming(topic, { route: { ...OWN, ttlMs: 60_000, keep: true } });
    await until("the route", async () => (await routesOf(live, topic).get("alice")).status === 200);
    await alice.stop();
    expect((await routesOf(live, topic).get("alice")).json).toMatchObject({ subscribers: 0 });
  });

  test("starts it again and attaches again when somebody ended it", async () => {
    const topic = freshTopic();
    const alice = consuming(topic, { route: { ...OWN, ttlMs: 60_000 } });
    const routes = routesOf(live, topic);
    await until("the route", async () => (await routes.get("alice")).json?.subscribers === 1);
    await routes.end("alice");
    await until("the route again", async () => (await routes.get("alice")).json?.subscribers === 1);
    await live.api("demo").publish(topic, messagesFor(["a1"]));
    await has(alice.handled, 1);
    await alice.stop();
    expect(alice.errors).toEqual(["receive RouteGoneError"]);
  });

  test("is told which route takes some of its messages, and one of them", async () => {
    const topic = freshTopic();
    await routesOf(live, topic).start("bob", { header: "x-dev", prefix: "al" });
    const error = await consuming(topic, { route: OWN }).done.catch((found: unknown) => found);
    expect(error).toBeInstanceOf(FairlaneApiError);
    expect(error).toMatchObject({
      code: "route-overlap",
      route: "bob",
      witness: { headers: { "x-dev": "alice" } },
    });
    expect((await routesOf(live, topic).get("alice")).status).toBe(404);
  });

  test("as a loop of messages, ends it with the loop", async () => {
    const topic = freshTopic();
    await live.api("demo").publish(topic, messagesFor(["m1", "a1", "a2"]));
    const seen: string[] = [];
    for await (const { id } of clientOf(live).messages(topic, { group: "g", route: OWN })) {
      seen.push(id);
      if (seen.length === 2) break;
    }
    expect(seen).toEqual(["a1", "a2"]);
    expect((await routesOf(live, topic).list()).json.routes).toEqual([]);
  });
});

describe("a consumer that attaches to a route", () => {
  test("gets its messages, and ends with a clear error when it is gone", async () => {
    const topic = freshTopic();
    await routesOf(live, topic).start("alice", dev("alice"));
    await live.api("demo").publish(topic, messagesFor(["m1", "a1"]));
    const alice = consuming(topic, { route: "alice" });
    await has(alice.handled, 1);
    expect((await routesOf(live, topic).end("alice")).status).toBe(204);
    const error = await alice.done.catch((found: unknown) => found);
    expect(error).toBeInstanceOf(RouteGoneError);
    expect(error).toMatchObject({ route: "alice" });
    expect(alice.handled).toEqual(["a1"]);
  });

  test("to one that is not there, ends at once", async () => {
    const { done } = consuming(freshTopic(), { route: "nobody" });
    await expect(done).rejects.toThrow("there is no route nobody");
  });
});

test("the calls of operators: put, get, list, end", async () => {
  const topic = freshTopic();
  const { admin } = clientOf(live);
  const put = await admin.putRoute(topic, "g", "alice", { filter: FILTER });
  expect(put).toMatchObject({ route: "alice", filter: FILTER, ttlMs: 30_000, delivered: 0, backlog: 0 });
  expect(await admin.getRoute(topic, "g", "alice")).toMatchObject({ startedAt: put.startedAt });
  const { routes, application } = await admin.listRoutes(topic, "g");
  expect(routes.map(({ route }) => route)).toEqual(["alice"]);
  expect(application).toMatchObject({ delivered: 0, backlog: 0, inFlight: 0, subscribers: 0 });
  await admin.deleteRoute(topic, "g", "alice");
  await expect(admin.getRoute(topic, "g", "alice")).rejects.toMatchObject({ code: "not-found" });
});

// The last one: with the embedded log everything is lost with the object.
test("goes on with its own route after the object was lost, which loses routes", async () => {
  const topic = freshTopic();
  const alice = consuming(topic, { route: { ...OWN, ttlMs: 30_000 } });
  await live.api("demo").publish(topic, messagesFor(["a1"]));
  await has(alice.handled, 1);
  await live.kill();
  await live.loseObjects();
  await live.restart();
  const routes = routesOf(live, topic);
  await until("the route again", async () => (await routes.get("alice")).json?.subscribers === 1, 20_000);
  await live.api("demo").publish(topic, messagesFor(["m2", "a2"]));
  await until("its message", async () => alice.handled.includes("a2"));
  await alice.stop();
  expect(alice.handled).not.toContain("m2");
  expect(alice.errors).toContain("receive RouteGoneError");
});
