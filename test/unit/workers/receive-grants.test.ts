import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import type { GrantView, Outcome } from "../../../src/protocol/tenant-calls.ts";
import { MessageReader, READ_DEADLINE_MS } from "../../../src/workers/message-reader.ts";
import { makeEdge, ok, type TenantCall } from "./edge.ts";
import { ManualTime } from "./manual-time.ts";
import { type Faults, outsideLog, TENANT, TOPIC, unavailable } from "./outside-log.ts";

const RECEIVE = `topics/${TOPIC}/groups/g/receive`;

beforeEach(() => {
  for (const level of ["error", "warn"] as const) vi.spyOn(console, level).mockImplementation(() => {});
});
afterEach(() => {
  vi.restoreAllMocks();
});

const grant = (offset: number): GrantView => ({
  receipt: `r${offset}`,
  partitionKey: "k",
  offset,
  attempt: 2,
  visibleUntil: 6,
  leaseEpoch: 7,
});
const granted = (...offsets: number[]) =>
  ok({ deliveries: [], grants: offsets.map(grant), partitions: ["k"], partitionsHeld: 1 });

/** The edge over a log of its own, and an object whose takes answer one after the other. */
function setup(
  faults: Faults,
  takes: (offsets: number[]) => Outcome<unknown>[],
  bodies = ["1", '"two"', "3"],
) {
  const outside = outsideLog(faults);
  const answers: Outcome<unknown>[] = [];
  const begin = async () => {
    const offsets = await outside.store(...bodies);
    answers.push(...takes(offsets));
    return offsets;
  };
  const edge = makeEdge(
    ({ name }) => (name === "take" ? (answers.shift() ?? granted()) : ok(null)),
    {},
    outside.logOf,
  );
  const receive = (more: object = {}, init: RequestInit = {}) =>
    edge.demo("POST", RECEIVE, { subscriber: "s", ...more }, init);
  const named = (name: TenantCall["name"]) =>
    edge.calls.filter((call) => call.name === name).map(({ input }) => input);
  return { ...outside, ...edge, begin, receive, takes: () => named("take"), named };
}

const bodiesOf = async (response: Response) =>
  ((await response.json()) as { deliveries: { body: unknown }[] }).deliveries.map(({ body }) => body);
const report = (more: object) => ({
  topic: TOPIC,
  group: "g",
  missing: [],
  unreadable: [],
  unreachable: [],
  ...more,
});

describe("a receive whose messages the Worker reads", () => {
  test("is answered in the order of its grants, from one read", async () => {
    const { begin, receive, reads, calls } = setup({}, ([a = 0, b = 0, c = 0]) => [granted(c, a, b)]);
    const [a = 0, b = 0, c = 0] = await begin();
    const reply = (await (await receive()).json()) as { deliveries: object[] };
    expect(reads).toEqual([[c, a, b]]);
    expect(reply.deliveries).toMatchObject([{ body: 3 }, { body: 1 }, { body: "two" }]);
    expect(reply.deliveries[1]).toEqual({
      receipt: `r${a}`,
      id: "m0",
      topic: TOPIC,
      partitionKey: "k",
      offset: a,
      attempt: 2,
      body: 1,
      contentType: "application/json",
      headers: {},
      publishedAt: Date.UTC(2026, 0, 1),
      visibleUntil: 6,
      leaseEpoch: 7,
    });
    expect(reply).toMatchObject({ partitions: ["k"], partitionsHeld: 1 });
    expect(calls.map(({ name }) => name)).toEqual(["take"]);
  });

  test("reads nothing where nothing is granted", async () => {
    const { receive, reads, calls } = setup({}, () => []);
    expect(await bodiesOf(await receive({ waitMs: 1000 }))).toEqual([]);
    expect(reads).toEqual([]);
    expect(calls.map(({ name }) => name)).toEqual(["take"]);
  });

  test("what would take the reply over 8 MiB is given back", async () => {
    const large = JSON.stringify("x".repeat(1024 * 1024 - 2));
    const { begin, receive, named } = setup({}, (all) => [granted(...all)], Array(9).fill(large));
    const offsets = await begin();
    expect(await bodiesOf(await receive())).toHaveLength(7);
    expect(named("giveBack").map(({ receipts }) => receipts)).toEqual([[`r${offsets[7]}`, `r${offsets[8]}`]]);
  });
});

describe("messages that are gone", () => {
  test("are reported, and the others delivered", async () => {
    const { begin, receive, named, takes } = setup({}, ([a = 0, b = 0]) => [granted(a, 1, b, 2)]);
    await begin();
    expect(await bodiesOf(await receive())).toEqual([1, "two"]);
    expect(named("reportReads")).toEqual([report({ missing: ["r1", "r2"] })]);
    expect(takes()).toHaveLength(1);
  });

  test("if all are, there is one more take, of its own name and for the time that is left", async () => {
    const { begin, receive, takes, calls } = setup({}, ([a = 0]) => [granted(1, 2), granted(a)]);
    await begin();
    expect(await bodiesOf(await receive({ waitMs: 5000 }))).toEqual([1]);
    expect(calls.map(({ name }) => name)).toEqual(["take", "reportReads", "take"]);
    const [first, second] = takes();
    expect(second.takeId).not.toBe(first.takeId);
    expect(second.waitMs).toBeGreaterThan(0);
    expect(second.waitMs).toBeLessThanOrEqual(5000);
    const { takeId: _, waitMs: __, ...same } = first;
    expect(second).toMatchObject(same);
  });

  test("and no third one", async () => {
    const { begin, receive, takes, named } = setup({}, () => [granted(1), granted(2), granted(3)]);
    await begin();
    expect(await bodiesOf(await receive())).toEqual([]);
    expect(takes().map(({ waitMs }) => waitMs)).toEqual([0, 0]);
    expect(named("reportReads").map(({ missing }) => missing)).toEqual([["r1"], ["r2"]]);
  });

  test("a report that fails spoils nothing", async () => {
    const { log, store } = outsideLog();
    const [a = 0] = await store("1");
    const edge = makeEdge(
      ({ name }) => (name === "take" ? granted(1, a) : Promise.reject(new Error("the object broke"))),
      {},
      () => log,
    );
    expect(await bodiesOf(await edge.demo("POST", RECEIVE, { subscriber: "s" }))).toEqual([1]);
  });
});

describe("messages that cannot be read", () => {
  const spoiltBy = (bad: (offsets: number[]) => number[], offsets: () => number[]): Faults => ({
    read: (asked) => {
      if (asked.some((offset) => bad(offsets()).includes(offset)))
        throw new Error("a row that is no message");
    },
  });

  test("are found one by one and reported; the others are delivered", async () => {
    let offsets: number[] = [];
    const faults = spoiltBy(
      ([, b = 0]) => [b],
      () => offsets,
    );
    const { begin, receive, named, reads } = setup(faults, (all) => [granted(...all)]);
    offsets = await begin();
    expect(await bodiesOf(await receive())).toEqual([1, 3]);
    expect(named("reportReads")).toEqual([report({ unreadable: [`r${offsets[1]}`] })]);
    expect(reads).toHaveLength(4);
  });

  test("a message that is alone is not blamed before the log has shown that it can be read", async () => {
    let offsets: number[] = [];
    const faults = spoiltBy(
      ([a = 0]) => [a],
      () => offsets,
    );
    const { begin, receive, named, reads } = setup(faults, ([a = 0]) => [granted(a)]);
    offsets = await begin();
    expect((await receive()).status).toBe(200);
    expect(reads).toEqual([[offsets[0]], [offsets[0]], [0]]);
    expect(named("reportReads")).toEqual([report({ unreadable: [`r${offsets[0]}`] })]);
  });

  test("where none can be read, the log is to blame", async () => {
    const faults: Faults = {
      read: () => {
        throw new Error("no such column");
      },
    };
    const { begin, receive, named } = setup(faults, (all) => [granted(...all)]);
    const offsets = await begin();
    expect((await receive()).status).toBe(503);
    expect(named("reportReads")).toEqual([report({ unreachable: offsets.map((offset) => `r${offset}`) })]);
  });
});

describe("a log that cannot be reached", () => {
  const down: Faults = {
    read: () => {
      throw unavailable();
    },
  };

  test("answers 503 after everything was given back as unreachable", async () => {
    const { begin, receive, named, settled, calls } = setup(down, (all) => [granted(...all)]);
    const offsets = await begin();
    const response = await receive({ waitMs: 5000 });
    expect([response.status, response.headers.get("retry-after")]).toEqual([503, "1"]);
    await settled();
    expect(named("reportReads")).toEqual([report({ unreachable: offsets.map((offset) => `r${offset}`) })]);
    expect(calls.map(({ name }) => name)).toEqual(["take", "reportReads"]);
  });

  test("also when it goes down half-way through reading one by one", async () => {
    let reads = 0;
    const faults: Faults = {
      read: () => {
        reads += 1;
        if (reads === 1) throw new Error("odd");
        if (reads > 2) throw unavailable();
      },
    };
    const { begin, receive, named } = setup(faults, (all) => [granted(...all)]);
    const offsets = await begin();
    expect((await receive()).status).toBe(503);
    expect(named("reportReads")).toEqual([report({ unreachable: offsets.map((offset) => `r${offset}`) })]);
  });

  test("is given back by the take's name where the report fails too", async () => {
    const { log, store } = outsideLog(down);
    const [a = 0] = await store("1");
    const edge = makeEdge(
      ({ name }) => {
        if (name === "take") return granted(a);
        return name === "giveBack" ? ok(null) : Promise.reject(new Error("the object broke"));
      },
      {},
      () => log,
    );
    expect((await edge.demo("POST", RECEIVE, { subscriber: "s" })).status).toBe(503);
    await edge.settled();
    expect(edge.calls.filter(({ name }) => name === "giveBack").map(({ input }) => input.receipts)).toEqual([
      [`r${a}`],
    ]);
  });

  test("that hangs counts as such after its deadline", async () => {
    const { log, reads } = outsideLog({ read: () => new Promise(() => {}) });
    const time = new ManualTime();
    const reader = new MessageReader(() => log, time.after);
    let code: unknown = null;
    const reading = reader
      .readGrants({ tenant: TENANT, topic: TOPIC }, [grant(1)])
      .catch((error) => (code = error.failure.code));
    await time.advance(READ_DEADLINE_MS - 1);
    expect(code).toBeNull();
    await time.advance(1);
    await reading;
    expect([code, reads.length, time.pendingTimers]).toEqual(["store-unavailable", 1, 0]);
  });
});

describe("a client that goes away", () => {
  test("while its messages are read: all is given back, and nothing sent", async () => {
    const client = new AbortController();
    const faults: Faults = { read: () => client.abort() };
    const { begin, receive, named, settled } = setup(faults, ([a = 0, b = 0]) => [granted(a, b, 1)]);
    const [a, b] = await begin();
    const response = await receive({ waitMs: 5000 }, { signal: client.signal });
    expect(response.status).toBe(499);
    await settled();
    expect(named("giveBack").map(({ receipts }) => receipts)).toEqual([[], [`r${a}`, `r${b}`, "r1"]]);
  });

  test("and finds a log that is down: all is given back, and the object told why", async () => {
    const client = new AbortController();
    const faults: Faults = {
      read: () => {
        client.abort();
        throw unavailable();
      },
    };
    const { begin, receive, named, settled } = setup(faults, ([a = 0]) => [granted(a)]);
    const [a] = await begin();
    await receive({}, { signal: client.signal });
    await settled();
    expect(named("giveBack").map(({ receipts }) => receipts)).toEqual([[], [`r${a}`]]);
    expect(named("reportReads")).toEqual([report({ unreachable: [`r${a}`] })]);
  });
});

describe("one message for an operator", () => {
  const view = (offset: number, body: string | null) =>
    ok({
      id: "m0",
      partitionKey: "k",
      offset,
      publishedAt: 1,
      dueAt: 2,
      bodyBytes: 1,
      contentType: null,
      headers: "",
      targetGroup: null,
      deadLetter: null,
      body,
    });
  const GET = `topics/${TOPIC}/message?id=m0&partitionKey=k`;

  test("has the body that the Worker reads, or the one that came", async () => {
    const { log, store, reads } = outsideLog();
    const [a = 0] = await store("12345678901234567890");
    const bodyless = makeEdge(
      () => view(a, null),
      {},
      () => log,
    );
    expect(await (await bodyless.demo("GET", GET)).text()).toContain('"body":12345678901234567890,');
    expect(reads).toEqual([[a]]);
    const whole = makeEdge(
      () => view(a, "5"),
      {},
      () => log,
    );
    expect(await (await whole.demo("GET", GET)).text()).toContain('"body":5,');
    expect(reads).toHaveLength(1);
  });

  test("that is gone meanwhile is not found; a log that is down is 503", async () => {
    const gone = makeEdge(() => view(5, null), {}, outsideLog().logOf);
    expect((await gone.demo("GET", GET)).status).toBe(404);
    const down = outsideLog({
      read: () => {
        throw unavailable();
      },
    });
    expect((await makeEdge(() => view(5, null), {}, down.logOf).demo("GET", GET)).status).toBe(503);
  });
});

test("grants without a log to read them from are a fault of ours, and are given back", async () => {
  const edge = makeEdge(({ name }) => (name === "take" ? granted(5) : ok(null)));
  expect((await edge.demo("POST", RECEIVE, { subscriber: "s" })).status).toBe(500);
  await edge.settled();
  expect(edge.calls.map(({ name, input }) => [name, input.receipts])).toEqual([
    ["take", undefined],
    ["giveBack", ["r5"]],
  ]);
});
