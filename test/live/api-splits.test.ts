import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { Api } from "./api.ts";
import { type Live, SECRET, setup, until } from "./harness.ts";
import { expectProblem } from "./problem.ts";
import { tenantToken } from "./tokens.ts";

// Brokered splits on a real server, with a queue agent that speaks its protocol and has no broker.

let live: Live;
let api: Api;
beforeAll(async () => {
  live = await setup();
  api = live.api("demo");
});
afterAll(() => live?.close());

const SOURCES = [
  { queue: "orders", provider: "rabbitmq", sourceName: "shop.orders" },
  { queue: "audit", provider: "kafka", sourceName: "shop-audit" },
];
const ALICE = { queue: "orders", filter: { header: "X-Dev", equals: "alice" } };
let workloads = 0;

type View = Record<string, unknown> & {
  phase: string;
  generation: number;
  routes: object[];
  resources: { name: string }[];
  agent: { connected: boolean; epoch: number };
};

/** Calls about a workload that no other test uses. */
function splitOf(of: Api = api, workload = `checkout-${++workloads}`) {
  const path = `splits/${workload}`;
  const json = (body: unknown) => ({ json: body });
  return {
    workload,
    put: (body: unknown = { sources: SOURCES }) => of.request<View>("PUT", path, json(body)),
    get: () => of.request<View>("GET", path),
    end: (query = "") => of.request("DELETE", `${path}${query}`),
    post: (what: "start" | "stop" | "resume", body?: unknown) =>
      of.request<View>("POST", `${path}/${what}`, body === undefined ? {} : json(body)),
    putRoute: (route: string, body: unknown) =>
      of.request<Record<string, unknown>>("PUT", `${path}/routes/${route}`, json(body)),
    getRoute: (route: string) => of.request<Record<string, unknown>>("GET", `${path}/routes/${route}`),
    routes: () => of.request<{ routes: { route: string }[] }>("GET", `${path}/routes`),
    endRoute: (route: string) => of.request("DELETE", `${path}/routes/${route}`),
  };
}

async function started() {
  const split = splitOf();
  expect((await split.put()).status).toBe(200);
  expect((await split.post("start")).status).toBe(200);
  return split;
}

/** Node's WebSocket takes headers, which the type of the one of browsers does not know. */
type Connect = new (url: string, options: { headers: Record<string, string> }) => WebSocket;

async function connect(
  workload: string,
): Promise<{ messages: Record<string, unknown>[]; socket: WebSocket }> {
  const url = `${live.url.replace("http", "ws")}/v1/tenants/demo/splits/${workload}/agent`;
  const headers = { authorization: `Bearer ${tenantToken(SECRET, "demo", "admin")}` };
  const socket = new (WebSocket as unknown as Connect)(url, { headers });
  const messages: Record<string, unknown>[] = [];
  socket.addEventListener("message", ({ data }) => void messages.push(JSON.parse(String(data))));
  await new Promise((resolve, reject) => {
    socket.addEventListener("open", resolve);
    socket.addEventListener("error", () => reject(new Error("no connection")));
  });
  return { messages, socket };
}

describe("a split", () => {
  test("is declared, started, stopped, and says what can be done next", async () => {
    const split = splitOf();
    const declared = await split.put();
    expect(declared.json).toEqual({
      workload: split.workload,
      phase: "Inactive",
      nextSafeAction: expect.stringMatching(/start/),
      generation: 1,
      agent: { connected: false, epoch: 0 },
      prefix: "fairlane",
      sources: SOURCES,
      routes: [],
      resources: [],
      retained: [],
      deadlineAt: null,
    });
    expect((await split.get()).json).toEqual(declared.json);
    const { json } = await split.post("start");
    expect(json).toMatchObject({ phase: "Preparing", generation: 2 });
    expect(json.deadlineAt).toBeGreaterThan(Date.now());
    expect((await split.post("start")).json).toEqual(json);
    expectProblem(await split.put({ sources: SOURCES.slice(1) }), "conflict");
    expectProblem(await split.end(), "conflict");
    expect((await split.post("stop")).json).toMatchObject({ phase: "AbortingActivation" });
    expectProblem(await split.post("start"), "conflict");
  });

  test("that is inactive can be declared anew, and forgotten", async () => {
    const split = splitOf();
    await split.put();
    const again = await split.put({ prefix: "dev", sources: SOURCES.slice(1) });
    expect(again.json).toMatchObject({ prefix: "dev", sources: SOURCES.slice(1), generation: 2 });
    expect((await split.end()).status).toBe(204);
    expectProblem(await split.get(), "not-found");
    expectProblem(await split.end(), "not-found");
    expect((await split.put()).json.generation).toBe(4);
  });

  test("two sources with one name, or one source twice: refused", async () => {
    const [orders, audit] = SOURCES;
    const split = splitOf();
    expectProblem(await split.put({ sources: [orders, { ...audit, queue: "orders" }] }), "conflict");
    expectProblem(await split.put({ sources: [orders, { ...orders, queue: "other" }] }), "conflict");
    expectProblem(await split.get(), "not-found");
  });

  test.each<[string, unknown, string]>([
    ["no sources", {}, "sources"],
    ["an empty list of them", { sources: [] }, "sources"],
    ["too many", { sources: Array.from({ length: 17 }, () => SOURCES[0]) }, "sources"],
    ["a source that is none", { sources: ["orders"] }, "sources[0]"],
    ["a queue that is no label", { sources: [{ ...SOURCES[0], queue: "Orders_1" }] }, "sources[0].queue"],
    ["too long a queue", { sources: [{ ...SOURCES[0], queue: "q".repeat(64) }] }, "sources[0].queue"],
    ["an unknown provider", { sources: [{ ...SOURCES[0], provider: "sqs" }] }, "sources[0].provider"],
    ["no source name", { sources: [{ ...SOURCES[0], sourceName: "" }] }, "sources[0].sourceName"],
    ["a control character", { sources: [{ ...SOURCES[0], sourceName: "a\nb" }] }, "sources[0].sourceName"],
    [
      "too long a source name",
      { sources: [{ ...SOURCES[0], sourceName: "s".repeat(256) }] },
      "sources[0].sourceName",
    ],
    ["a field too many", { sources: [{ ...SOURCES[0], password: "x" }] }, "sources[0].password"],
    ["another one", { sources: SOURCES, force: true }, "force"],
    ["a prefix that is no label", { prefix: "-x", sources: SOURCES }, "prefix"],
    ["too long a prefix", { prefix: "p".repeat(17), sources: SOURCES }, "prefix"],
  ])("with %s: refused", async (_, body, path) => {
    const split = splitOf();
    expectProblem(await split.put(body), "invalid-request", path);
    expectProblem(await split.get(), "not-found");
  });

  test("needs a name, and no workload's is another tenant's", async () => {
    expectProblem(await splitOf(api, "Not%20One").put(), "invalid-request", "workload");
    expectProblem(await splitOf(api, "a".repeat(129)).get(), "invalid-request", "workload");
    const split = splitOf();
    await split.put();
    expectProblem(await splitOf(live.api("acme"), split.workload).get(), "not-found");
  });

  test("that is held by a shadow that is missing goes on when it is named", async () => {
    const split = await started();
    const { messages, socket } = await connect(split.workload);
    const answer = (type: string, id?: number) =>
      until(type, async () => messages.findLast((one) => one.type === type && (id ?? one.id) === one.id));
    socket.send(JSON.stringify({ type: "hello", version: 1, previousEpoch: null }));
    const { enteredGeneration } = await answer("command");
    let id = 0;
    const report = async (said: object) => {
      id += 1;
      socket.send(JSON.stringify({ type: "report", id, epoch: 1, enteredGeneration, report: said }));
      await answer("accepted", id);
    };
    const resources = [{ kind: "app-shadow", queue: "orders", slot: null }];
    await report({ kind: "record", resources });
    const name = String((await split.get()).json.resources[0]?.name);
    await report({ kind: "created", names: [name] });
    await report({ kind: "checkpointed", queue: "orders", checkpoint: '{"n":1}' });
    await report({ kind: "failed", failure: "ShadowUnsafe", detail: `${name} is missing` });
    expectProblem(await split.post("resume", { makeAgain: ["nobody"] }), "not-found");
    expectProblem(await split.post("resume", { makeAgain: "all" }), "invalid-request", "makeAgain");
    expectProblem(await split.post("resume", { makeAgain: ["A_B"] }), "invalid-request", "makeAgain[0]");
    expectProblem(await split.post("resume", { makeAgian: [name] }), "invalid-request", "makeAgian");
    expect((await split.get()).json.phase).toBe("Degraded");
    const { json } = await split.post("resume", { makeAgain: [name] });
    expect(json).toMatchObject({ phase: "Preparing", resources: [{ name, state: "recorded" }] });
    // Without a body, and with an empty one: it is not held, and stays as it is.
    expect((await split.post("resume")).json).toEqual(json);
    expect((await split.post("resume", {})).json).toEqual(json);
    socket.close();
  });

  test("is there after the server was killed", async () => {
    const split = await started();
    await split.putRoute("alice", { ...ALICE, ttlMs: 3_600_000 });
    const { json } = await split.get();
    await live.kill();
    await live.restart();
    expect((await split.get()).json).toEqual(json);
  });
});

describe("routes", () => {
  test("are put, renewed, listed and ended", async () => {
    const split = await started();
    const { json } = await split.putRoute("bob", {
      queue: "orders",
      filter: { header: "X-Dev", equals: "bob" },
    });
    expect(json).toMatchObject({
      route: "bob",
      queue: "orders",
      ttlMs: 30_000,
      state: "active",
      shadow: null,
    });
    await split.putRoute("alice", { ...ALICE, ttlMs: 60_000 });
    const renewed = await split.putRoute("alice", { ...ALICE, ttlMs: 90_000 });
    // A broker's headers are compared byte for byte: their names stay as they were written.
    expect(renewed.json).toMatchObject({ ttlMs: 90_000, filter: ALICE.filter });
    expect((await split.routes()).json.routes.map(({ route }) => route)).toEqual(["alice", "bob"]);
    expect((await split.getRoute("alice")).json).toEqual(renewed.json);
    expect((await split.get()).json.routes).toHaveLength(2);
    expect((await split.endRoute("alice")).status).toBe(204);
    expectProblem(await split.getRoute("alice"), "not-found");
    expectProblem(await split.endRoute("alice"), "not-found");
  });

  test("an overlap names the other route and a message that both would take", async () => {
    const split = await started();
    await split.putRoute("alice", ALICE);
    const bob = await split.putRoute("bob", { queue: "orders", filter: { header: "X-Dev", prefix: "al" } });
    const problem = expectProblem(bob, "route-overlap");
    expect(problem).toMatchObject({ route: "alice", witness: { headers: { "X-Dev": "alice" } } });
    // Another queue has other messages, and another case is another header.
    expect((await split.putRoute("carol", { ...ALICE, queue: "audit" })).status).toBe(200);
    const lower = {
      queue: "orders",
      filter: {
        all: [
          { header: "x-dev", equals: "alice" },
          { header: "X-Dev", exists: false },
        ],
      },
    };
    expect((await split.putRoute("dave", lower)).status).toBe(200);
  });

  test("take another filter while nothing was moved; the order of a filter's fields makes no other", async () => {
    const split = await started();
    await split.putRoute("alice", ALICE);
    const other = { queue: "orders", filter: { header: "X-Dev", equals: "ally" } };
    expect((await split.putRoute("alice", other)).json).toMatchObject({ filter: other.filter });
    const turned = { queue: "orders", filter: { equals: "ally", header: "X-Dev" } };
    const { text } = await split.putRoute("alice", turned);
    expect(text).toContain('"filter":{"header":"X-Dev","equals":"ally"}');
  });

  test("end by themselves, while nobody has started an agent", async () => {
    const split = await started();
    await split.putRoute("alice", { ...ALICE, ttlMs: 1000 });
    await until("its end", async () => (await split.getRoute("alice")).status === 404);
  });

  test("are of a split that is started, and of a queue of it", async () => {
    const split = splitOf();
    expectProblem(await split.putRoute("alice", ALICE), "not-found");
    await split.put();
    expectProblem(await split.putRoute("alice", ALICE), "conflict");
    await split.post("start");
    expectProblem(await split.putRoute("alice", { ...ALICE, queue: "other" }), "not-found");
    await split.putRoute("alice", ALICE);
    expectProblem(await split.putRoute("alice", { ...ALICE, queue: "audit" }), "conflict");
  });

  test.each<[string, unknown, string]>([
    ["no queue", { filter: ALICE.filter }, "queue"],
    ["no filter", { queue: "orders" }, "filter"],
    ["an empty filter", { ...ALICE, filter: {} }, "filter"],
    ["an unknown field in the filter", { ...ALICE, filter: { headr: "x", equals: "y" } }, "filter.headr"],
    ["a key, which RabbitMQ has none", { ...ALICE, filter: { key: { equals: "k" } } }, "filter.key"],
    ["too short a life", { ...ALICE, ttlMs: 999 }, "ttlMs"],
    ["too long a life", { ...ALICE, ttlMs: 24 * 3600 * 1000 + 1 }, "ttlMs"],
    ["a field too many", { ...ALICE, force: true }, "force"],
  ])("with %s: refused", async (_, body, path) => {
    const split = await started();
    expectProblem(await split.putRoute("alice", body), "invalid-request", path);
    expect((await split.routes()).json.routes).toEqual([]);
  });
});

test("who may: consume for routes, admin for the split, either to look", async () => {
  const split = await started();
  const as = (scope: string) => splitOf(live.api("demo", tenantToken(SECRET, "demo", scope)), split.workload);
  const [consumer, admin, publisher] = [as("consume"), as("admin"), as("publish")];
  for (const call of [consumer.put, consumer.end, () => consumer.post("start")])
    expectProblem(await call(), "forbidden");
  expectProblem(await admin.putRoute("alice", ALICE), "forbidden");
  expectProblem(await publisher.get(), "forbidden");
  expect((await consumer.putRoute("alice", ALICE)).status).toBe(200);
  for (const one of [consumer, admin]) {
    for (const reply of [await one.get(), await one.getRoute("alice"), await one.routes()]) {
      expect(reply.status).toBe(200);
    }
  }
  expectProblem(await admin.endRoute("alice"), "forbidden");
});

describe("the queue agent's WebSocket", () => {
  test("gives it an epoch and its task, and takes its reports", async () => {
    const split = await started();
    const { messages, socket } = await connect(split.workload);
    const answer = (type: string) => until(type, async () => messages.findLast((one) => one.type === type));
    socket.send(JSON.stringify({ type: "hello", version: 1, previousEpoch: null }));
    expect(await answer("welcome")).toEqual({ type: "welcome", epoch: 1 });
    const { enteredGeneration, sources, task } = await answer("command");
    expect([task, sources]).toMatchObject(["prepare", SOURCES]);
    expect((await split.get()).json.agent).toEqual({ connected: true, epoch: 1 });
    const checkpoints = SOURCES.map(({ queue }) => ({ queue, checkpoint: "{}" }));
    const report = { kind: "prepared", checkpoints };
    socket.send(JSON.stringify({ type: "report", id: 5, epoch: 1, enteredGeneration, report }));
    expect(await answer("accepted")).toMatchObject({ id: 5 });
    expect((await split.get()).json.phase).toBe("QuiescingApp");
    socket.close();
    await until("its absence", async () => (await split.get()).json.agent.connected === false);
  });

  test("a request that wants none is told so; others are refused as everywhere", async () => {
    const split = await started();
    const path = `splits/${split.workload}/agent`;
    expectProblem(await api.request("GET", path), "invalid-request", "upgrade");
    const consumer = live.api("demo", tenantToken(SECRET, "demo", "consume"));
    expectProblem(await consumer.request("GET", path), "forbidden");
    expectProblem(await api.request("POST", path), "not-found");
    await expect(connect("nobody")).rejects.toThrow("no connection");
  });
});
