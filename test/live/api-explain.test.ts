import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { Api } from "./api.ts";
import { freshTopic, type Live, numbered, only, SECRET, setup, until, untilClock } from "./harness.ts";
import { expectProblem } from "./problem.ts";
import { tenantToken } from "./tokens.ts";

let live: Live;
let api: Api;
beforeAll(async () => {
  live = await setup();
  api = live.api("demo");
});
afterAll(() => live?.close());

interface WireBlocker extends Record<string, unknown> {
  kind: string;
}
interface WireExplanation extends Record<string, unknown> {
  state: string;
  offset: number | null;
  summary: string;
  until: number | null;
  blockers: WireBlocker[];
  nextChangeAt: number | null;
  nextState: string | null;
  deliveredAt?: number;
  at: number;
}
interface WireWaiting {
  lanes: { partitionKey: string; unsettled: number; explanation: WireExplanation }[];
  more: boolean;
}

const groupPath = (topic: string, group = "g") => `topics/${topic}/groups/${group}`;

async function explain(
  topic: string,
  query: Record<string, string | number>,
  group = "g",
): Promise<WireExplanation> {
  const search = new URLSearchParams(Object.entries(query).map(([name, value]) => [name, String(value)]));
  const path = `${groupPath(topic, group)}/explain?${search}`;
  const reply = await api.request<WireExplanation>("GET", path);
  expect(reply.status, reply.text).toBe(200);
  expect(reply.json.summary).toMatch(/^[A-Z].*\.$/);
  expect(reply.json.nextChangeAt ?? Number.POSITIVE_INFINITY).toBeGreaterThan(reply.json.at);
  return reply.json;
}

const of = (id: string, partitionKey = "k") => ({ id, partitionKey });
const kinds = ({ blockers }: WireExplanation) => blockers.map(({ kind }) => kind);

async function waiting(topic: string, limit = ""): Promise<WireWaiting> {
  const reply = await api.request<WireWaiting>("GET", `${groupPath(topic)}/waiting${limit}`);
  expect(reply.status, reply.text).toBe(200);
  return reply.json;
}

async function nack(topic: string, receipt: string, more: Record<string, unknown>): Promise<void> {
  expect(await api.settleOne(topic, "g", { receipt, action: "nack", ...more })).toBe("ok");
}

describe("states", () => {
  test("deliverable, in flight, backing off, postponed, settled", async () => {
    const topic = freshTopic();
    await api.publish(topic, numbered(3, "k"));
    const [m0, m1] = (await api.receive(topic, "g", { maxMessages: 2, visibilityTimeoutMs: 60_000 }))
      .deliveries;
    if (!m0 || !m1) throw new Error("two were expected");
    const deliverable = await explain(topic, of("m2"));
    expect(deliverable).toMatchObject({
      topic,
      group: "g",
      id: "m2",
      partitionKey: "k",
      state: "deliverable",
      blockers: [],
      lease: { subscriber: "s1" },
      maxAttempts: 3,
      until: null,
    });
    expect(await explain(topic, of("m0"))).toMatchObject({
      state: "in-flight",
      subscriber: "s1",
      attempt: 1,
      until: m0.visibleUntil,
      offset: m0.offset,
      publishedAt: m0.publishedAt,
    });
    await nack(topic, m0.receipt, { reason: "timeout", delayMs: 60_000 });
    await api.settle(topic, "g", [{ receipt: m1.receipt, action: "postpone", delayMs: 60_000 }]);
    expect(await explain(topic, { partitionKey: "k", offset: m0.offset })).toMatchObject({
      id: "m0",
      state: "backing-off",
      attempt: 1,
      reason: "timeout",
      until: expect.any(Number),
    });
    const postponed = await explain(topic, of("m1"));
    expect(postponed).toMatchObject({ state: "postponed" });
    expect(await explain(topic, of("m2"))).toMatchObject({
      state: "waiting",
      blockers: [
        { kind: "message", id: "m1", offset: m1.offset, state: "postponed", until: postponed.until },
      ],
      nextChangeAt: postponed.until,
      nextState: "deliverable",
    });
    expect(await explain(topic, of("m2"))).toMatchObject({
      summary: `Waits behind the message m1 at offset ${m1.offset}, which was postponed until ${new Date(postponed.until ?? 0).toISOString()}.`,
    });
    await api.publish(topic, numbered(1, "other", "x"));
    const x = only((await api.receive(topic, "g")).deliveries);
    await api.ack(topic, "g", [x]);
    expect(await explain(topic, of("x0", "other"))).toMatchObject({ state: "settled", nextChangeAt: null });
  });

  test("delayed until it is due, whether or not its topic was read", async () => {
    const topic = freshTopic();
    await api.putGroup(topic, "g");
    await api.publish(topic, [{ ...of("late"), body: 1, delayMs: 60_000 }]);
    const delayed = await explain(topic, of("late"));
    expect(delayed).toMatchObject({ state: "delayed", blockers: [{ kind: "no-subscriber" }] });
    expect(delayed.nextChangeAt).toBe(delayed.until);
    expect(Math.abs((delayed.until ?? 0) - Number(delayed.dueAt))).toBeLessThan(1000);
    await api.receive(topic, "g");
    expect(await explain(topic, of("late"))).toMatchObject({ state: "delayed", blockers: [] });
  });

  test("dead-lettered, then its copy for the group that failed it, and for no other", async () => {
    const topic = freshTopic();
    await api.putGroup(topic, "other");
    await api.publish(topic, numbered(1, "k"));
    const { receipt } = only((await api.receive(topic, "g")).deliveries);
    await api.settleOne(topic, "g", { receipt, action: "reject", reason: "schema 4" });
    const dead = await until("the dead letter", async () => {
      const explanation = await explain(topic, of("m0"));
      return explanation.state === "being-dead-lettered" ? null : explanation;
    });
    expect(dead).toMatchObject({
      state: "dead-lettered",
      deadLetter: { group: "g", reason: "schema 4", attempts: 1, originalTopic: topic, originalId: "m0" },
    });
    expect(kinds(await explain(topic, of("m0"), "other"))).toEqual(["no-subscriber"]);
    await api.request("POST", `topics/${topic}/dead-letters/redrive`, { json: {} });
    const copy = await explain(topic, of("m0"));
    expect(["deliverable", "waiting"]).toContain(copy.state);
    expect(copy.offset).toBeGreaterThan(Number(dead.offset));
    expect(await explain(topic, { partitionKey: "k", offset: copy.offset ?? 0 }, "other")).toMatchObject({
      state: "other-group",
      targetGroup: "g",
    });
    expect(await explain(topic, of("none"))).toMatchObject({ state: "not-found", offset: null });
  });

  test("too old", async () => {
    const topic = freshTopic();
    await api.putTopic(topic, { retentionMs: 1000, maxRetentionMs: 1500 });
    await api.putGroup(topic, "g", { paused: true });
    await api.publish(topic, numbered(1, "k"));
    const fresh = await explain(topic, of("m0"));
    expect(fresh.state).toBe("waiting");
    await untilClock((fresh.nextChangeAt ?? 0) + 5);
    expect(await explain(topic, of("m0"))).toMatchObject({ state: "expired", blockers: [] });
  });
});

describe("blockers", () => {
  test("no subscriber, then nobody asking, and a paused group before all", async () => {
    const topic = freshTopic();
    await api.putGroup(topic, "g");
    await api.publish(topic, numbered(1, "k"));
    expect(kinds(await explain(topic, of("m0")))).toEqual(["no-subscriber"]);
    await api.request("POST", `${groupPath(topic)}/subscribers/s1/heartbeat`);
    const asleep = await explain(topic, of("m0"));
    expect(asleep.blockers).toEqual([{ kind: "nobody-asking", subscribers: 1 }]);
    // Not when its heartbeats end: nothing becomes of the message by that.
    expect(asleep).toMatchObject({ nextChangeAt: Number(asleep.dueAt) + 604_800_000, nextState: "expired" });
    await api.putGroup(topic, "g", { paused: true });
    expect(kinds(await explain(topic, of("m0")))).toEqual(["group-paused", "nobody-asking"]);
    expect((await explain(topic, of("m0"))).summary).toMatch(/^The group is paused/);
  });

  test("a strict lane waits for the message before, one that is full for room", async () => {
    const topic = freshTopic();
    await api.putGroup(topic, "g", { maxInFlightPerPartition: 1 });
    await api.publish(topic, numbered(3, "k"));
    const before = await explain(topic, of("m1"));
    expect(before.blockers).toMatchObject([
      { kind: "no-subscriber" },
      { kind: "message", id: "m0", state: "waiting", until: null },
    ]);
    const m0 = only((await api.receive(topic, "g")).deliveries);
    const behind = await explain(topic, of("m2"));
    expect(behind.blockers).toEqual([
      {
        kind: "message",
        offset: m0.offset,
        id: "m0",
        deliveredAt: expect.any(Number),
        state: "in-flight",
        attempt: 1,
        subscriber: "s1",
        until: m0.visibleUntil,
      },
    ]);
    await api.putGroup(topic, "g", { maxInFlightPerPartition: 2 });
    await api.receive(topic, "g");
    expect((await explain(topic, of("m2"))).blockers).toEqual([
      { kind: "in-flight-limit", inFlight: 2, limit: 2, until: m0.visibleUntil },
    ]);
  });

  test("the lease of an owner who does not ask, and a fair share to give up", async () => {
    const topic = freshTopic();
    await api.publish(topic, [...numbered(2, "a"), ...numbered(2, "b")]);
    const hold = { subscriber: "owner", maxMessages: 2, visibilityTimeoutMs: 60_000 };
    expect((await api.receive(topic, "g", hold)).deliveries).toHaveLength(2);
    const asked = await api.receive(topic, "g", { subscriber: "other" });
    expect(asked.deliveries).toEqual([]);
    const said = [await explain(topic, of("m1", "a")), await explain(topic, of("m1", "b"))];
    const shared = said.find((one) => kinds(one).includes("share"));
    expect(shared?.blockers).toMatchObject([
      { kind: "share", subscriber: "owner", until: expect.any(Number) },
    ]);
    const kept = said.find((one) => one !== shared);
    // The owner stops to count as asking, the other one goes on.
    await until("the lease of one who does not ask", async () => {
      await api.receive(topic, "g", { subscriber: "other", maxMessages: 1 });
      const explanation = await explain(topic, of("m1", String(kept?.partitionKey)));
      return explanation.blockers.some(({ kind, subscriber }) => kind === "lease" && subscriber === "owner");
    });
  });

  test("what is too deep in its partition is unread", async () => {
    const topic = freshTopic();
    await api.putGroup(topic, "g");
    for (let batch = 0; batch < 2; batch += 1) await api.publish(topic, numbered(100, "k", `${batch}-`));
    const deep = await explain(topic, of("1-99"));
    expect(deep.state).toBe("waiting");
    expect(kinds(deep)).toEqual(["no-subscriber", "in-flight-limit", "unread"]);
  });
});

describe("a handler that hangs", () => {
  test("its delivery is out since it was handed over, and its lane waits", async () => {
    const topic = freshTopic();
    await api.putGroup(topic, "g", { visibilityTimeoutMs: 1000 });
    await api.publish(topic, numbered(1, "k"));
    const { receipt } = only((await api.receive(topic, "g")).deliveries);
    const { deliveredAt } = await explain(topic, of("m0"));
    await untilClock(Number(deliveredAt) + 500);
    const [result] = await api.settle(topic, "g", [
      { receipt, action: "extend", visibilityTimeoutMs: 60_000 },
    ]);
    expect(result).toMatchObject({ status: "ok" });
    const { lanes } = await until("the lane", async () => {
      const page = await waiting(topic);
      return page.lanes.length > 0 ? page : null;
    });
    expect(lanes).toMatchObject([{ partitionKey: "k", explanation: { state: "in-flight", deliveredAt } }]);
    expect(lanes[0]?.explanation.summary).toMatch(/, and extended since; .* Look at what s1 does with it\.$/);
    const reply = await api.request<{ subscribers: unknown[] }>("GET", `${groupPath(topic)}/subscribers`);
    expect(reply.json.subscribers).toMatchObject([{ subscriber: "s1", oldestDeliveryAt: deliveredAt }]);
  });
});

describe("GET waiting", () => {
  test("shows lanes of which nothing can go, as many as asked for", async () => {
    const topic = freshTopic();
    await api.putGroup(topic, "g");
    for (const key of ["k1", "k2", "k3"]) await api.publish(topic, numbered(2, key));
    // The first look reads the topic.
    const all = await until("three lanes", async () => {
      const page = await waiting(topic);
      return page.lanes.length === 3 ? page : null;
    });
    expect(all.more).toBe(false);
    for (const { partitionKey, unsettled, explanation } of all.lanes) {
      expect(unsettled).toBe(2);
      expect(explanation).toMatchObject({ partitionKey, state: "waiting", id: null });
      expect(kinds(explanation)).toEqual(["no-subscriber"]);
      const offset = Number(explanation.offset);
      expect(await explain(topic, { partitionKey, offset })).toMatchObject({ id: "m0", state: "waiting" });
    }
    const some = await waiting(topic, "?limit=2");
    expect([some.lanes.length, some.more]).toEqual([2, true]);
    await api.receiveCount(topic, "g", 6);
    expect(await waiting(topic)).toEqual({ lanes: [], more: false });
  });
});

describe("refusals", () => {
  test("unknown groups and topics are not found", async () => {
    const topic = freshTopic();
    await api.publish(topic, numbered(1, "k"));
    const query = "explain?partitionKey=k&id=m0";
    expectProblem(await api.request("GET", `${groupPath(topic)}/${query}`), "not-found");
    expectProblem(await api.request("GET", `${groupPath("none")}/${query}`), "not-found");
    expectProblem(await api.request("GET", `${groupPath(topic)}/waiting`), "not-found");
  });

  test.each([
    ["explain?partitionKey=k", "id"],
    ["explain?partitionKey=k&id=a&offset=1", "id"],
    ["explain?id=a", "partitionKey"],
    ["explain?partitionKey=k&offset=-1", "offset"],
    ["explain?partitionKey=k&offset=1.5", "offset"],
    ["explain?partitionKey=k&id=", "id"],
    ["explain?partitionKey=&id=a", "partitionKey"],
    ["explain?partitionKey=k&id=a&when=now", ""],
    ["waiting?limit=0", "limit"],
    ["waiting?limit=101", "limit"],
    ["waiting?after=1", ""],
  ])("%s is an invalid request", async (query, path) => {
    const topic = freshTopic();
    await api.putGroup(topic, "g");
    const reply = await api.request("GET", `${groupPath(topic)}/${query}`);
    expectProblem(reply, "invalid-request", ...(path === "" ? [] : [path]));
  });

  test("other scopes and other tenants get nothing", async () => {
    const topic = freshTopic();
    await api.publish(topic, numbered(1, "k"));
    await api.putGroup(topic, "g");
    for (const query of ["explain?partitionKey=k&id=m0", "waiting"]) {
      const path = `${groupPath(topic)}/${query}`;
      const publisher = live.api("demo", tenantToken(SECRET, "demo", "publish"));
      expectProblem(await publisher.request("GET", path), "forbidden");
      expectProblem(await live.api("demo", tenantToken(SECRET, "acme")).request("GET", path), "forbidden");
      expectProblem(await live.api("demo", null).request("GET", path), "unauthorized");
      // The same names of another tenant are not the same messages.
      expectProblem(await live.api("acme").request("GET", path), "not-found");
    }
  });
});
