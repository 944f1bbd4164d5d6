import { afterAll, beforeAll, expect, test } from "vitest";
import type { Reply, RequestOptions } from "../live/api.ts";
import { type Live, numbered, only, until, untilClock } from "../live/harness.ts";
import type { Delivery, ReceiveReply, SettleResult } from "../live/wire.ts";
import { ServerPlace } from "./server-place.ts";
import { shapeRoute } from "./shape-route.ts";

// Two databases as two shards behind one gateway, and tenants on both. Each shard has a user of its own that cannot reach
// the other; what was sent to each is read from the server's own log of statements, so that the router is not the only
// witness.

const TENANTS = Array.from({ length: 8 }, (_, n) => `tenant-${n}-x`);
const TABLES = ["queue_messages", "queue_offsets", "queue_groups", "queue_topics"];
const shardOf = (tenant: string) => Number(/^tenant-(\d)-x$/.exec(tenant)?.[1] ?? expect.fail(tenant)) % 2;
const tenantsOfShard = (shard: number) => TENANTS.filter((tenant) => shardOf(tenant) === shard);
const HORIZON_MS = 1000;
const RETENTION_MS = 1000;
const SET_UP = /^(?:SET time_zone|SELECT @@max_allowed_packet)/;

let place: ServerPlace;
let live: Live;
const shards: { name: string; user: string }[] = [];
const unroutable: string[] = [];

beforeAll(async () => {
  place = await ServerPlace.start({ durable: false });
  const dsns: string[] = [];
  for (const number of [0, 1]) {
    const { name, dsn } = await place.shard();
    const user = `shard_${number}`;
    await place.mariaDb.runSql(`CREATE USER '${user}'@'127.0.0.1' IDENTIFIED BY 'shard-password'`);
    await place.mariaDb.runSql(`GRANT SELECT, INSERT, UPDATE, DELETE ON ${name}.* TO '${user}'@'127.0.0.1'`);
    const url = new URL(dsn);
    url.username = user;
    url.password = "shard-password";
    dsns.push(url.href);
    shards.push({ name, user });
  }
  const routeOf = shapeRoute(shardOf);
  const route = (sql: string) => {
    try {
      return routeOf(sql);
    } catch (error) {
      unroutable.push(`${error instanceof Error ? error.message : error}: ${sql.slice(0, 300)}`);
      throw error;
    }
  };
  await place.mariaDb.runSql("SET GLOBAL log_output = 'TABLE'");
  await place.mariaDb.runSql("SET GLOBAL general_log = 1");
  const gateway = await place.gateway({ shards: dsns, route }, { commitHorizonMs: HORIZON_MS });
  live = await place.server(gateway, { tenants: TENANTS });
});
afterAll(async () => {
  await live?.close();
  await place?.stop();
});

/** Calls by the API's own list of operations, and which were called. */
class Caller {
  readonly called = new Set<string>();
  readonly tenant: string;

  constructor(tenant: string) {
    this.tenant = tenant;
  }

  /** `operation` as in `/openapi.json`, without the tenant's part; `query` with its question mark. */
  async call<T>(operation: string, options: RequestOptions = {}, query = "", topic = "orders"): Promise<T> {
    const [method, path] = operation.split(" ") as [string, string];
    this.called.add(operation);
    const filled = path
      .replace("{topic}", topic)
      .replace("{group}", "g")
      .replace("{subscriber}", "s1")
      .replace("{route}", "alice")
      .replace("{workload}", "shop");
    const reply: Reply<T> = await live
      .api(this.tenant)
      .request(method, `${filled.slice(1)}${query}`, options);
    expect([200, 204], `${this.tenant} ${operation}: ${reply.text.slice(0, 300)}`).toContain(reply.status);
    return reply.json;
  }

  async receive(count: number, topic?: string, route?: string): Promise<Delivery[]> {
    const deliveries: Delivery[] = [];
    await until(`${count} deliveries`, async () => {
      const maxMessages = count - deliveries.length;
      // A subscriber is attached to one route at a time.
      const json =
        route === undefined
          ? { subscriber: "s1", maxMessages, waitMs: 500 }
          : { subscriber: "s2", maxMessages, waitMs: 500, route };
      const operation = "POST /topics/{topic}/groups/{group}/receive";
      deliveries.push(...(await this.call<ReceiveReply>(operation, { json }, "", topic)).deliveries);
      return deliveries.length >= count;
    });
    return deliveries;
  }

  async settle(deliveries: readonly Delivery[], action: string, more = {}, topic?: string): Promise<void> {
    const settlements = deliveries.map(({ receipt }) => ({ receipt, action, ...more }));
    const operation = "POST /topics/{topic}/groups/{group}/settle";
    const json = { subscriber: "s1", settlements };
    const { results } = await this.call<{ results: SettleResult[] }>(operation, { json }, "", topic);
    expect(results.map(({ status }) => status)).toEqual(deliveries.map(() => "ok"));
  }
}

const TOPIC = "/topics/{topic}";
const GROUP = `${TOPIC}/groups/{group}`;
const ROUTE = `${GROUP}/routes/{route}`;

/** Every call of the API at least once, and each kind of settlement. */
async function everyCall(tenant: string): Promise<ReadonlySet<string>> {
  const caller = new Caller(tenant);
  const body = tenant;
  const publish = (messages: unknown[]) => caller.call(`POST ${TOPIC}/messages`, { json: { messages } });
  await caller.call(`PUT ${TOPIC}`, { json: { retentionMs: RETENTION_MS } });
  await caller.call(`PUT ${GROUP}`, { json: { maxInFlightPerPartition: 100, maxAttempts: 2 } });
  await publish(["a", "b", "c", "d", "e", "f"].map((id) => ({ id, partitionKey: "k", body })));
  await publish(["a", "g"].map((id) => ({ id, partitionKey: "k", body })));
  await publish([{ id: "later", partitionKey: "k2", body, delayMs: 300 }]);
  await caller.call(`POST ${TOPIC}/raw`, {
    text: "raw",
    headers: { "x-fairlane-id": "raw", "content-type": "text/plain", "x-fairlane-partition-key": "k3" },
  });
  const first = await caller.receive(9);
  expect(new Set(first.filter(({ id }) => id !== "raw").map((delivery) => delivery.body))).toEqual(
    new Set([tenant]),
  );
  const of = (...ids: string[]) => first.filter(({ id }) => ids.includes(id));
  await caller.settle(of("a", "b", "later", "raw"), "ack");
  await caller.settle(of("c", "d"), "reject", { reason: "no use" });
  await caller.settle(of("e"), "nack", { delayMs: 0 });
  await caller.settle(of("f"), "extend", { visibilityTimeoutMs: 60_000 });
  await caller.settle(of("g"), "postpone", { delayMs: 100 });
  await caller.settle(await caller.receive(2), "ack");

  const dead = () => caller.call<{ deadLetters: unknown[] }>(`GET ${TOPIC}/dead-letters`);
  await until("the copies", async () => (await dead()).deadLetters.length === 2);
  const ids = [{ id: "c", partitionKey: "k" }];
  const redrive = { json: { ids, group: "g" } };
  expect(await caller.call(`POST ${TOPIC}/dead-letters/redrive`, redrive)).toEqual({ redriven: 1 });
  const redriven = only(await caller.receive(1));
  await caller.settle([redriven], "reject", { reason: "again" });
  await until("its copy", async () => (await dead()).deadLetters.length === 2);
  await caller.settle(await caller.receive(2, "orders_dlq"), "ack", {}, "orders_dlq");
  expect(await caller.call(`DELETE ${TOPIC}/dead-letters`)).toEqual({ deleted: 2 });

  const held = of("f");
  await caller.call(`POST ${GROUP}/subscribers/{subscriber}/heartbeat`);
  await caller.call(`GET ${GROUP}`);
  await caller.call(`GET ${TOPIC}`);
  expect(await caller.call("GET /topics")).toEqual({ topics: ["orders", "orders_dlq"] });
  await caller.call(`GET ${TOPIC}/messages`, {}, "?limit=2&partitionKey=k");
  expect(await caller.call(`GET ${TOPIC}/message`, {}, "?id=a&partitionKey=k")).toMatchObject({ body });
  await caller.call(`GET ${GROUP}/lag`);
  await caller.call(`GET ${GROUP}/leases`);
  await caller.call(`GET ${TOPIC}/messages`, {}, "?last=2");
  await caller.call(`GET ${GROUP}/explain`, {}, "?id=a&partitionKey=k");
  await caller.call(`GET ${GROUP}/waiting`);
  await caller.call(`GET ${GROUP}/subscribers`);
  await caller.call("GET /overview");
  const filter = { header: "x-dev", equals: tenant };
  await caller.call(`PUT ${ROUTE}`, { json: { filter } });
  await caller.call(`GET ${ROUTE}`);
  await caller.call(`GET ${GROUP}/routes`);
  await publish([{ id: "routed", partitionKey: "k5", body, headers: { "x-dev": tenant } }]);
  await caller.settle(await caller.receive(1, undefined, "alice"), "ack");
  await caller.call(`DELETE ${ROUTE}`);
  await everySplitCall(caller);
  await caller.settle(held, "ack");
  await caller.call(`DELETE ${GROUP}/lease`, {}, "?partitionKey=k");
  await caller.call(`DELETE ${TOPIC}/message`, {}, "?id=a&partitionKey=k");
  const offset = first[2]?.offset;
  await caller.call(`PUT ${GROUP}/offset`, { json: { partitionKey: "k", offset } });
  await caller.settle(await caller.receive(4), "ack");

  const gc = () => caller.call<{ deletedMessages: number }>("POST /gc");
  await until("the collection", async () => (await gc()).deletedMessages > 0);
  await publish([{ id: "last", partitionKey: "k", body }]);
  await caller.call(`DELETE ${TOPIC}/messages`);
  await caller.call(`DELETE ${GROUP}/subscribers/{subscriber}`);
  await caller.call(`PUT ${GROUP}`, { json: {} }, "", "other");
  await caller.call(`DELETE ${GROUP}`, {}, "", "other");
  await publish([{ id: "kept", partitionKey: "k", body }, ...numbered(2, "k4")]);
  await caller.settle((await caller.receive(3)).slice(1), "ack");
  return caller.called;
}

/** None of them has a statement: a split's state is in the object of its manager. */
async function everySplitCall(caller: Caller): Promise<void> {
  const split = "/splits/{workload}";
  const route = `${split}/routes/{route}`;
  const declare = { sources: [{ queue: "orders", provider: "kafka", sourceName: "shop.orders" }] };
  await caller.call(`PUT ${split}`, { json: declare });
  await caller.call(`DELETE ${split}`);
  await caller.call(`PUT ${split}`, { json: declare });
  await caller.call(`GET ${split}`);
  await caller.call(`POST ${split}/start`);
  const filter = { header: "x-dev", equals: "alice" };
  await caller.call(`PUT ${route}`, { json: { queue: "orders", filter } });
  await caller.call(`GET ${route}`);
  await caller.call(`GET ${split}/routes`);
  await caller.call(`DELETE ${route}`);
  await caller.call(`POST ${split}/resume`);
  await caller.call(`POST ${split}/stop`);
}

async function operationsOfTenants(): Promise<string[]> {
  const { json } = await live.open<{ paths: Record<string, Record<string, unknown>> }>(
    "GET",
    "/openapi.json",
  );
  const prefix = "/v1/tenants/{tenant}";
  return Object.entries(json.paths)
    .filter(([path]) => path.startsWith(prefix))
    .flatMap(([path, methods]) =>
      Object.keys(methods).map((method) => `${method.toUpperCase()} ${path.slice(prefix.length)}`),
    );
}

/** Statements that reached a shard, by the server's own log. */
async function statementsOf(user: string): Promise<string[]> {
  const rows = await place.mariaDb.runSql(
    `SELECT CONVERT(argument USING utf8mb4) AS argument FROM mysql.general_log
     WHERE command_type = 'Query' AND user_host LIKE '${user}[%'`,
  );
  return rows.map(({ argument }) => String(argument)).filter((sql) => !SET_UP.test(sql));
}

test("no statement of a tenant touches another shard, none is unroutable, and each shard holds its tenants' rows only", async () => {
  const called = await Promise.all(TENANTS.map(everyCall));
  const operations = await operationsOfTenants();
  expect(operations.length).toBeGreaterThan(20);
  for (const operationsCalled of called) expect([...operationsCalled].sort()).toEqual(operations.sort());
  expect(await live.fireCron()).toEqual({ ok: true });
  // Progress is saved, the object lost, and everything recovered from the log.
  await untilClock(Date.now() + 5000);
  await live.kill();
  await live.loseObjects();
  await live.restart();
  for (const tenant of TENANTS) {
    const api = live.api(tenant);
    const { deliveries } = await api.receive("orders", "g", { maxMessages: 100, waitMs: 1000 });
    expect(deliveries).toMatchObject([{ id: "kept", body: tenant }]);
  }
  expect(await live.fireCron()).toEqual({ ok: true });

  expect(unroutable).toEqual([]);
  for (const [number, { name, user }] of shards.entries()) {
    const statements = await statementsOf(user);
    expect(statements.length).toBeGreaterThan(100);
    const strangers = tenantsOfShard(1 - number);
    const own = tenantsOfShard(number);
    expect(statements.filter((sql) => strangers.some((tenant) => sql.includes(`'${tenant}'`)))).toEqual([]);
    expect(statements.filter((sql) => !own.some((tenant) => sql.includes(`'${tenant}'`)))).toEqual([]);
    for (const table of TABLES) {
      const rows = await place.mariaDb.runSql(`SELECT DISTINCT tenant FROM ${table} ORDER BY tenant`, name);
      expect(
        rows.map(({ tenant }) => String(tenant)),
        `${table} of shard ${number}`,
      ).toEqual(own);
    }
  }
}, 120_000);
