import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { type Gateway, startGateway } from "../../src/gateway/gateway.ts";
import type { Api } from "../live/api.ts";
import { ids, type Live, setup, until } from "../live/harness.ts";
import { ServerPlace } from "./server-place.ts";

const TABLES = ["queue_topics", "queue_groups", "queue_messages", "queue_offsets"];
const LOGIN = { user: "server", password: "server-password" };
const TOPIC = "orders";
/** The least that may be asked for. */
const VISIBILITY_MS = 1000;

let place: ServerPlace;
beforeAll(async () => {
  place = await ServerPlace.start();
});
afterAll(() => place?.stop());

// What docs/operations.md says under "Going back to an earlier point".
describe("after the database went back to a copy, the objects did not, and", () => {
  let gateway: Gateway;
  let live: Live;
  let api: Api;
  let restored: string;
  let highestOffset: number;

  /** Published, settled and in flight before and after a copy; then the gateway stands before the copy. */
  beforeEach(async () => {
    const [original, copy] = [await place.shard(), await place.shard()];
    restored = copy.name;
    gateway = await startGateway({ ...LOGIN, dsn: original.dsn });
    live = await setup({ env: { MESSAGE_LOG: "vitess", DATABASE_URL: gateway.url } });
    api = live.api("demo");

    await publish("acked-before", "acked-after");
    const [first, second] = await api.receiveCount(TOPIC, "billing", 2);
    if (!first || !second) throw new Error("two were published");
    await api.ack(TOPIC, "billing", [first]);
    for (const table of TABLES) {
      await place.mariaDb.runSql(`INSERT INTO ${copy.name}.${table} SELECT * FROM ${original.name}.${table}`);
    }

    await api.ack(TOPIC, "billing", [second]);
    await publish("gone");
    const [inFlight] = await api.receiveCount(TOPIC, "billing", 1, { visibilityTimeoutMs: VISIBILITY_MS });
    highestOffset = inFlight?.offset as number;
    await api.putGroup(TOPIC, "late");

    const { port } = new URL(gateway.url);
    await gateway.close();
    gateway = await startGateway({ ...LOGIN, dsn: copy.dsn, port: Number(port) });
  });
  afterEach(async () => {
    await live?.close();
    await gateway?.close();
  });

  const publish = (...names: string[]) =>
    api.publish(
      TOPIC,
      names.map((id) => ({ id, partitionKey: "order-1", body: id })),
    );
  const statsOf = async (group: string) => {
    const { groups } = await api.getTopic(TOPIC);
    return groups.find((each) => each.group === group);
  };

  test("what was settled stays settled, what was in flight expires", async () => {
    // The delivery after the visibility timeout finds that the log has it no longer.
    await until("it expires", async () => {
      expect((await api.receive(TOPIC, "billing")).deliveries).toEqual([]);
      return (await statsOf("billing"))?.expired === 1;
    });
    expect(await statsOf("billing")).toMatchObject({ backlog: 0, inFlight: 0, expired: 1 });
  });

  test("what is gone can be published again, behind everything before", async () => {
    expect(await publish("gone")).toMatchObject([{ duplicate: false }]);
    expect(await publish("acked-after")).toMatchObject([{ duplicate: true }]);
    const [again] = await api.receiveCount(TOPIC, "billing", 1);
    expect(again).toMatchObject({ id: "gone", attempt: 1 });
    expect(again?.offset).toBeGreaterThan(highestOffset);
  });

  test("a group of later goes on, and is in the log after a PUT", async () => {
    const names = async () => {
      const rows = await place.mariaDb.runSql(`SELECT group_name FROM ${restored}.queue_groups`);
      return rows.map(({ group_name }) => group_name);
    };
    expect(ids(await api.receiveCount(TOPIC, "late", 2))).toEqual(["acked-before", "acked-after"]);
    expect(await names()).toEqual(["billing"]);
    await api.putGroup(TOPIC, "late");
    expect(await names()).toEqual(["billing", "late"]);
  });

  test("a reset partition is delivered once more", async () => {
    const reset = { partitionKey: "order-1", offset: 0 };
    const { status } = await api.request("PUT", `topics/${TOPIC}/groups/billing/offset`, { json: reset });
    expect(status).toBe(200);
    expect(ids(await api.receiveCount(TOPIC, "billing", 2))).toEqual(["acked-before", "acked-after"]);
  });

  test("a group that was made anew gets everything", async () => {
    const { status } = await api.request("DELETE", `topics/${TOPIC}/groups/billing?force=true`);
    expect(status).toBe(204);
    await api.putGroup(TOPIC, "billing", { startFrom: "earliest" });
    expect(ids(await api.receiveCount(TOPIC, "billing", 2))).toEqual(["acked-before", "acked-after"]);
  });

  test("without the objects what was settled after the copy comes again", async () => {
    await live.kill();
    await live.loseObjects();
    await live.restart();
    const came = ids(await api.receiveCount(TOPIC, "billing", 1));
    expect(["acked-before", "acked-after"]).toContain(came[0]);
    const rest = await api.receive(TOPIC, "billing", { maxMessages: 10 });
    expect([...came, ...ids(rest.deliveries)]).toContain("acked-after");
  });
});
