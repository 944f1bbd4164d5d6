import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { Reply } from "./api.ts";
import { type Live, SECRET, setup, until } from "./harness.ts";
import { brokenRequests, wholeRequest } from "./openapi-broken-requests.ts";
import { digestOf } from "./openapi-digest.ts";
import { Contract, type DocumentedOperation } from "./openapi-document.ts";
import { keepFilterRules } from "./openapi-filters.ts";
import {
  DocumentedCalls,
  fetchedDocument,
  getWithBody,
  type Request,
  searchOf,
  TENANT,
  type Twist,
} from "./openapi-request.ts";
import { scenes } from "./openapi-scenes.ts";
import { expectProblem } from "./problem.ts";
import { inSeconds, signToken, tenantToken } from "./tokens.ts";
import type { Delivery, Problem } from "./wire.ts";

// Each request in which the document sees one thing wrong is refused by the right problem, and changes nothing.

const NAMES = {
  tenant: TENANT,
  topic: "stock",
  group: "readers",
  subscriber: "reader",
  route: "alice",
  workload: "shop",
};
const HOURS_MS = 12 * 3600 * 1000;
/** For longer than the tests run. */
const HELD = { leaseDurationMs: HOURS_MS, visibilityTimeoutMs: HOURS_MS };
const FILTER = { header: "x-dev", equals: "alice" };
const SCOPES = ["publish", "consume", "admin"];
const IDS = Object.keys(scenes);

let live: Live;
let contract: Contract;
let calls: DocumentedCalls;
let before: Record<string, unknown>;
beforeAll(async () => {
  live = await setup();
  contract = new Contract((await fetchedDocument(live)).json);
  calls = new DocumentedCalls(live, contract);
  await stock();
  before = await digestOf(calls);
});
afterAll(() => live?.close());

/** Something of everything: messages waiting, in flight, and dead. */
async function stock(): Promise<void> {
  const api = live.api(TENANT);
  await api.putGroup(NAMES.topic, NAMES.group, HELD);
  const messages = [1, 2, 3, 4].map((n) => ({ id: `m${n}`, partitionKey: `k${n}`, body: n }));
  await api.publish(NAMES.topic, messages);
  const { deliveries } = await api.receive(NAMES.topic, NAMES.group, {
    subscriber: NAMES.subscriber,
    maxMessages: 3,
  });
  const { receipt } = deliveries[0] as Delivery;
  await api.settle(NAMES.topic, NAMES.group, [{ receipt, action: "reject", reason: "no" }]);
  const route = { params: NAMES, body: { filter: FILTER, ttlMs: HOURS_MS } };
  expect((await calls.send("putRoute", route)).status).toBe(200);
  const sources = [{ queue: "orders", provider: "kafka", sourceName: "shop.orders" }];
  expect((await calls.send("putSplit", { params: NAMES, body: { sources } })).status).toBe(200);
  await until("a dead letter", async () => (await api.deadLetters(NAMES.topic)).length === 1);
}

/** Since the last look, so that what one test finds changed does not fail the others. */
async function expectNothingChanged(): Promise<void> {
  const last = before;
  before = await digestOf(calls);
  expect(before).toEqual(last);
}

function operationOf(id: string): DocumentedOperation {
  return contract.operation(id);
}

/** With what the document's words alone forbid left out. */
function whole(id: string): Request {
  const request = wholeRequest(contract, operationOf(id), NAMES);
  if (id === "explain") delete request.query.offset;
  if (id === "listMessages") delete request.query.last;
  if (id === "putRoute" || id === "putSplitRoute") {
    const body = request.body as { filter: unknown };
    body.filter = keepFilterRules(body.filter, id === "putRoute" ? "fairlane" : "kafka");
  }
  if (id === "putTopic") request.body = { retentionMs: 1000, maxRetentionMs: 2000 };
  return request;
}

test("each operation of the document is tried", () => {
  expect([...IDS].sort()).toEqual([...contract.operations.keys()].sort());
});

describe("requests that are not valid", () => {
  test.each(IDS)("%s", async (id) => {
    const broken = brokenRequests(contract, operationOf(id), whole(id));
    expect(broken.length).toBeGreaterThan(2);
    for (const { what, request, twist, path, orBeside } of broken) {
      const reply = await calls.send<Problem>(id, request, twist);
      const shown = `${id}, ${what}: ${reply.status} ${reply.text.slice(0, 600)}`;
      expect([reply.status, reply.json?.type], shown).toEqual([400, "urn:fairlane:invalid-request"]);
      const paths = reply.json.issues?.map((issue) => issue.path) ?? [];
      const isThere = (found: string) =>
        found === path || (orBeside !== undefined && found.startsWith(orBeside));
      expect(paths.some(isThere), `${path} in ${shown}`).toBe(true);
    }
    await expectNothingChanged();
  });

  test("a GET that brings a body, which fetch cannot send", async () => {
    for (const { operationId, method, path, scopes } of contract.operations.values()) {
      if (method !== "GET") continue;
      const { params } = whole(operationId);
      const url = live.url + path.replaceAll(/\{(\w+)\}/g, (_, name: string) => params[name] ?? "");
      const token = scopes.length === 0 ? null : tenantToken(SECRET, TENANT);
      const reply = await getWithBody(`${url}?${searchOf(whole(operationId).query)}`, token, '{"some":1}');
      contract.checkReply(operationOf(operationId), reply);
      expectProblem(reply, "invalid-request", "");
    }
    await expectNothingChanged();
  });

  test.each<[string, string, Record<string, unknown>, string]>([
    ["explain", "neither id nor offset", { partitionKey: "k" }, "id"],
    ["explain", "both id and offset", { partitionKey: "k", id: "i", offset: 1 }, "id"],
    ["listMessages", "last beside after", { after: 1, last: 1 }, "last"],
  ])("%s with %s, as its words say", async (id, _, query, path) => {
    expectProblem(await calls.send(id, { params: NAMES, query }), "invalid-request", path);
  });

  test("putTopic with maxRetentionMs below retentionMs, as its words say", async () => {
    const body = { retentionMs: 2000, maxRetentionMs: 1999 };
    expectProblem(await calls.send("putTopic", { params: NAMES, body }), "invalid-request", "maxRetentionMs");
    await expectNothingChanged();
  });
});

describe("requests of those who may not call", () => {
  const secured = () => IDS.map(operationOf).filter(({ scopes }) => scopes.length > 0);
  /** The rest of the request is as wrong as can be: it must not even be looked at. */
  const worst: Twist = { search: "unknown=1", text: "{" };
  const sent = (operation: DocumentedOperation, twist: Twist, tenant = TENANT) =>
    calls.send(
      operation.operationId,
      { params: { ...NAMES, tenant } },
      operation.method === "GET" ? { search: "unknown=1", ...twist } : { ...worst, ...twist },
    );

  test("no token, and tokens that are none", async () => {
    const expired = signToken(SECRET, { tenant: TENANT, scope: SCOPES.join(" "), exp: inSeconds(-1) });
    for (const operation of secured()) {
      for (const token of [null, "garbage", expired, tenantToken(`${SECRET}x`, TENANT)]) {
        expectProblem(await sent(operation, { token }), "unauthorized");
      }
    }
    await expectNothingChanged();
  });

  test("another tenant's token, and none of the scopes that suffice", async () => {
    for (const operation of secured()) {
      const lacking = SCOPES.filter((scope) => !operation.scopes.includes(scope)).join(" ");
      for (const token of [tenantToken(SECRET, "acme"), tenantToken(SECRET, TENANT, lacking)]) {
        expectProblem(await sent(operation, { token }), "forbidden");
      }
    }
    await expectNothingChanged();
  });

  test("a tenant that there is not", async () => {
    for (const operation of secured()) {
      for (const tenant of ["nobody", "Not A Name"]) {
        expectProblem(await sent(operation, { token: tenantToken(SECRET, "*") }, tenant), "unknown-tenant");
      }
    }
    await expectNothingChanged();
  });
});

describe("names that stand for nothing", () => {
  test.each([
    ["topic", "unknownTopic"],
    ["group", "unknownGroup"],
  ] as const)("an unknown %s", async (name, unknown) => {
    const ids = IDS.filter((id) => scenes[id]?.[unknown] === "not-found");
    expect(ids.length).toBeGreaterThan(5);
    for (const id of ids) {
      const { params, ...request } = whole(id);
      const reply = await calls.send(id, { ...request, params: { ...params, [name]: "nowhere" } });
      expectProblem(reply, "not-found");
      const described = operationOf(id).responses[404];
      expect(described?.description, id).toMatch(new RegExp(`not-found: .*${name}`));
    }
    await expectNothingChanged();
  });

  test("a settle in an unknown topic or group, where no receipt can be one", async () => {
    for (const name of ["topic", "group"]) {
      const body = { settlements: [{ receipt: "r", action: "ack" }] };
      const { status, json } = await calls.send("settle", { params: { ...NAMES, [name]: "nowhere" }, body });
      expect([status, json]).toEqual([200, { results: [{ receipt: "r", status: "invalid" }] }]);
    }
    await expectNothingChanged();
  });

  test.each(["getMessage", "deleteMessage"])("%s of an unknown message", async (id) => {
    for (const query of [
      { id: "m1", partitionKey: "k9" },
      { id: "m9", partitionKey: "k1" },
    ]) {
      expectProblem(await calls.send(id, { params: NAMES, query }), "not-found");
    }
    await expectNothingChanged();
  });

  test.each(["getRoute", "deleteRoute"])("%s of an unknown route", async (id) => {
    expectProblem(await calls.send(id, { params: { ...NAMES, route: "nobody" } }), "not-found");
    expect(operationOf(id).responses[404]?.description).toMatch(/not-found: .*route/);
    await expectNothingChanged();
  });

  test("a workload without a split", async () => {
    const ids = IDS.filter((id) => operationOf(id).path.includes("{workload}") && id !== "putSplit");
    expect(ids.length).toBeGreaterThan(5);
    for (const id of ids) {
      const { params, ...request } = whole(id);
      const reply = await calls.send(id, { ...request, params: { ...params, workload: "nowhere" } });
      expectProblem(reply, "not-found");
      expect(operationOf(id).responses[404]?.description, id).toMatch(/not-found: .*split/);
    }
    await expectNothingChanged();
  });

  test("receive on an unknown route, which takes nothing and makes no subscriber known", async () => {
    const body = { subscriber: "lost", route: "nobody" };
    expectProblem(await calls.send("receive", { params: NAMES, body }), "not-found");
    expect(operationOf("receive").responses[404]?.description).toMatch(/not-found: .*route/);
    await expectNothingChanged();
  });

  test("releaseLease of a partition that nobody holds", async () => {
    expectProblem(
      await calls.send("releaseLease", { params: NAMES, query: { partitionKey: "k9" } }),
      "not-found",
    );
  });

  test("a scene says so of every operation about a topic or group", () => {
    for (const { operationId, path } of contract.operations.values()) {
      const { unknownTopic, unknownGroup } = scenes[operationId] ?? {};
      expect(unknownTopic !== undefined, operationId).toBe(path.includes("{topic}"));
      expect(unknownGroup !== undefined, operationId).toBe(path.includes("{group}"));
    }
  });
});

describe("requests that the state of things, or their size, does not allow", () => {
  test("deleteGroup while it has live subscribers", async () => {
    for (const query of [{}, { force: false }]) {
      expectProblem(await calls.send("deleteGroup", { params: NAMES, query }), "conflict");
    }
    await expectNothingChanged();
  });

  test("putRoute with a filter that takes what another route does", async () => {
    for (const filter of [FILTER, { everything: true }, { header: "X-Dev", matches: "a.*e" }]) {
      const reply = await calls.send("putRoute", { params: { ...NAMES, route: "bob" }, body: { filter } });
      const { route, witness } = expectProblem(reply, "route-overlap");
      expect([route, witness]).toEqual(["alice", { headers: { "x-dev": "alice" } }]);
    }
    await expectNothingChanged();
  });

  test("a request with more bytes than the document allows any", async () => {
    const [, max] = /at most\s(\d+)\sbytes/.exec(contract.document.info.description) ?? [];
    for (const id of IDS) {
      const json = contract.jsonBody(operationOf(id));
      if (json === null) continue;
      const text = `${JSON.stringify(whole(id).body)}${" ".repeat(Number(max))}`;
      expectProblem(await calls.send(id, whole(id), { text }), "payload-too-large");
    }
    await expectNothingChanged();
  });

  test("bodies with more bytes than the document allows a message, or a batch", async () => {
    const tooLarge = (reply: Reply<unknown>) => expectProblem(reply, "payload-too-large");
    const words = JSON.stringify(operationOf("publish").requestBody);
    const [, one] = /At most (\d+) bytes of UTF-8"/.exec(words) ?? [];
    const [, all] = /bodies of a batch have at most (\d+) bytes/.exec(words) ?? [];
    const text = "a".repeat(Number(one) - 2);
    const batch = (bodies: string[]) => ({ messages: bodies.map((body) => ({ body, partitionKey: "k" })) });
    tooLarge(await calls.send("publish", { params: NAMES, body: batch([`${text}a`]) }));
    const full = Number(all) / Number(one);
    tooLarge(await calls.send("publish", { params: NAMES, body: batch([...Array(full).fill(text), ""]) }));
    const [, raw] = /at most (\d+) bytes/.exec(operationOf("publishRaw").description) ?? [];
    tooLarge(await calls.send("publishRaw", { params: NAMES, body: new Uint8Array(Number(raw) + 1) }));
    await expectNothingChanged();
    const params = { ...NAMES, topic: "large" };
    const fits = await calls.send("publish", { params, body: batch(Array(full).fill(text)) });
    expect(fits.status, fits.text).toBe(200);
    expect((await calls.send("publishRaw", { params, body: new Uint8Array(Number(raw)) })).status).toBe(200);
  });
});

test("more groups than a topic may have: too much, and when to try again", async () => {
  const put = (n: number) =>
    calls.send("putGroup", { params: { ...NAMES, topic: "crowded", group: `g${n}` }, body: {} });
  const statuses = new Map<number, number>();
  for (let n = 0; n < 200 && !statuses.has(429); n += 1) {
    const { status } = await put(n);
    statuses.set(status, (statuses.get(status) ?? 0) + 1);
  }
  expect([...statuses]).toEqual([
    [200, 100],
    [429, 1],
  ]);
  const receive = { params: { ...NAMES, topic: "crowded", group: "more" }, body: { subscriber: "s" } };
  expectProblem(await calls.send("receive", receive), "rate-limited");
});

test("more routes than a group may have: too much, and when to try again", async () => {
  const put = (n: number) => {
    const body = { filter: { header: "x-dev", equals: `d${n}` } };
    return calls.send("putRoute", {
      params: { ...NAMES, topic: "split", group: "g", route: `r${n}` },
      body,
    });
  };
  const statuses: number[] = [];
  for (let n = 0; n < 21; n += 1) statuses.push((await put(n)).status);
  expect(statuses).toEqual([...Array(20).fill(200), 429]);
  expectProblem(await put(20), "rate-limited");
  expect((await put(0)).status, "one that is there is renewed").toBe(200);
});

describe("topics and groups that a call makes", () => {
  test.each(IDS.filter((id) => scenes[id]?.unknownTopic === "made"))("%s", async (id) => {
    const { params, ...request } = whole(id);
    const topic = `made-by-${id.toLowerCase()}`;
    const made = { ...params, topic };
    const waitless = id === "receive" ? { ...request, body: { subscriber: "s" } } : request;
    expect((await calls.send(id, { ...waitless, params: made })).status).toBe(200);
    expect((await calls.send("getTopic", { params: made })).status).toBe(200);
    if (scenes[id]?.unknownGroup === "made")
      expect((await calls.send("getGroup", { params: made })).status).toBe(200);
  });
});

test("the digest shows a change of each kind", async () => {
  const api = live.api(TENANT);
  await api.putGroup("digested", "g", HELD);
  let last = await digestOf(calls);
  const changes: [string, () => Promise<unknown>][] = [
    ["a message", () => api.publish("digested", [{ id: "a", partitionKey: "k", body: 1 }])],
    ["a delivery", () => api.receive("digested", "g")],
    ["a heartbeat", () => api.request("POST", "topics/digested/groups/g/subscribers/s1/heartbeat")],
    ["a setting", () => api.putGroup("digested", "g", { maxAttempts: 9 })],
    ["a topic", () => api.putTopic("digested-too", {})],
  ];
  for (const [what, change] of changes) {
    const changed = await until(what, async () => {
      await change();
      const now = await digestOf(calls);
      return JSON.stringify(now) === JSON.stringify(last) ? null : now;
    });
    last = changed;
  }
});
