import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import type { Api } from "../live/api.ts";
import { freshTopic, ids, type Live, numbered, only, until, untilClock } from "../live/harness.ts";
import { type ClockProxy, startClockProxy } from "./clock-proxy.ts";
import { publishUnheard } from "./direct-publish.ts";
import { type ServerDatabase, ServerPlace } from "./server-place.ts";

// The database's clock steps back by two seconds between publishes, as after a failover. Order across the step is not
// promised; that nothing is lost is.

/** One for each case: what its object learnt of the clock is no other's. */
const TENANTS = Array.from({ length: 7 }, (_, n) => `clock-${n}`);
const HORIZON_MS = 5000;
const STEP_MS = 2000;

let place: ServerPlace;
let database: ServerDatabase;
let clock: ClockProxy;
let live: Live;
let cases = 0;
let tenant: string;
let api: Api;
beforeAll(async () => {
  place = await ServerPlace.start({ durable: false });
  database = await place.database({ commitHorizonMs: HORIZON_MS });
  clock = await startClockProxy(database.gateway.url);
  const variables = { ...database.variables, DATABASE_URL: clock.url };
  live = await place.server({ variables }, { tenants: TENANTS });
});
afterAll(async () => {
  await live?.close();
  await clock?.close();
  await place?.stop();
});
beforeEach(() => {
  clock.shiftMs = 0;
  tenant = TENANTS[cases++] ?? expect.fail("more tenants are needed");
  api = live.api(tenant);
});

/** Ahead by what it steps back, so that it is right afterwards and the step is one of the database alone. */
async function stepBack(topic: string): Promise<void> {
  const before = clock.shifted;
  expect(clock.shiftMs).toBe(STEP_MS);
  clock.shiftMs = 0;
  expect(before).toBeGreaterThan(0);
  await api.publish(topic, numbered(3, "k", "after"));
  const offsets = new Map((await api.listMessages(topic)).map(({ id, offset }) => [id, offset]));
  // Otherwise nothing has stepped.
  expect(offsets.get("after0")).toBeLessThan(offsets.get("before0") as number);
}

describe("G9 no skipped message: the database's clock steps back", () => {
  test("before a consumer has read anything", async () => {
    const topic = freshTopic();
    await api.putGroup(topic, "g");
    clock.shiftMs = STEP_MS;
    await api.publish(topic, numbered(3, "k", "before"));
    await stepBack(topic);
    const deliveries = await api.receiveCount(topic, "g", 6);
    expect(ids(deliveries).sort()).toEqual(["after0", "after1", "after2", "before0", "before1", "before2"]);
    expect(ids(deliveries).filter((id) => id.startsWith("after"))).toEqual(["after0", "after1", "after2"]);
    await api.ack(topic, "g", deliveries);
    expect((await api.receive(topic, "g", { waitMs: 500 })).deliveries).toEqual([]);
  });

  test.each([
    ["and acked", true],
    ["and holds it", false],
  ])("after a consumer has read past %s", async (_what, isAcked) => {
    const topic = freshTopic();
    clock.shiftMs = STEP_MS;
    await api.publish(topic, numbered(3, "k", "before"));
    const before = await api.receiveCount(topic, "g", 3);
    if (isAcked) await api.ack(topic, "g", before);
    await stepBack(topic);
    const startMs = Date.now();
    const after = await api.receiveCount(topic, "g", 3);
    expect(ids(after)).toEqual(["after0", "after1", "after2"]);
    expect(Date.now() - startMs, "its hint tells where it lies").toBeLessThan(2000);
    await api.ack(topic, "g", [...(isAcked ? [] : before), ...after]);
    expect(await api.getTopic(topic)).toMatchObject({ groups: [{ backlog: 0, inFlight: 0 }] });
    expect((await api.receive(topic, "g", { waitMs: 500 })).deliveries).toEqual([]);
  });

  test("while a receive waits that has seen the faster clock", async () => {
    const topic = freshTopic();
    clock.shiftMs = STEP_MS;
    await api.publish(topic, numbered(1, "k", "before"));
    await api.ack(topic, "g", await api.receiveCount(topic, "g", 1));
    const waiting = api.receive(topic, "g", { waitMs: 20_000 });
    await untilClock(Date.now() + 200);
    const startMs = Date.now();
    await stepBack(topic);
    expect(only((await waiting).deliveries.slice(0, 1)).id).toBe("after0");
    expect(Date.now() - startMs).toBeLessThan(2000);
  });

  test("and nobody tells the tenant object of what comes then: it is found within the horizon", async () => {
    const topic = freshTopic();
    clock.shiftMs = STEP_MS;
    await api.publish(topic, numbered(3, "k", "before"));
    await api.ack(topic, "g", await api.receiveCount(topic, "g", 3));
    clock.shiftMs = 0;
    await publishUnheard(database.dsn, { tenant, topic, id: "unheard", partitionKey: "k" });
    const startMs = Date.now();
    const { deliveries } = await api.receive(topic, "g", { waitMs: 20_000 });
    expect(ids(deliveries)).toEqual(["unheard"]);
    expect(Date.now() - startMs).toBeLessThan(HORIZON_MS + 2 * STEP_MS + 2000);
    expect((await api.listMessages(topic))[0]?.id).toBe("unheard");
  });

  test("strict lanes, delayed messages and a repeated ID go on", async () => {
    const topic = freshTopic();
    await api.putGroup(topic, "g", { maxInFlightPerPartition: 1 });
    clock.shiftMs = STEP_MS;
    await api.publish(topic, [
      ...numbered(2, "k", "before"),
      { id: "delayed", partitionKey: "d", body: 1, delayMs: 300 },
    ]);
    await api.ack(topic, "g", await api.receiveCount(topic, "g", 1));
    await stepBack(topic);
    const again = await api.publish(topic, numbered(1, "k", "before"));
    expect(only(again).duplicate).toBe(true);
    const seen: string[] = [];
    await until("all of them", async () => {
      const { deliveries } = await api.receive(topic, "g", { waitMs: 500 });
      seen.push(...ids(deliveries));
      if (deliveries.length > 0) await api.ack(topic, "g", deliveries);
      return seen.length >= 5;
    });
    expect(seen.sort()).toEqual(["after0", "after1", "after2", "before1", "delayed"]);
  });

  test("and the object is lost: what was acked on both sides stays acked", async () => {
    const topic = freshTopic();
    clock.shiftMs = STEP_MS;
    await api.publish(topic, numbered(3, "k", "before"));
    await api.ack(topic, "g", (await api.receiveCount(topic, "g", 3)).slice(0, 2));
    await stepBack(topic);
    const after = await api.receiveCount(topic, "g", 3);
    await api.ack(topic, "g", after.slice(0, 2));
    await untilClock(Date.now() + 5000);
    await live.kill();
    await live.loseObjects();
    await live.restart();
    expect(ids(await api.receiveCount(topic, "g", 2)).sort()).toEqual(["after2", "before2"]);
    expect((await api.receive(topic, "g", { waitMs: 500 })).deliveries).toEqual([]);
  });
});
