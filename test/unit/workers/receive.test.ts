import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { receiveReplyText } from "../../../src/protocol/reply-text.ts";
import type { DeliveryView, Outcome } from "../../../src/protocol/tenant-calls.ts";
import { probedResponse } from "../../../src/workers/routes/probed-response.ts";
import { makeEdge, ok } from "./edge.ts";

const delivery = (more: Partial<DeliveryView> = {}): DeliveryView => ({
  receipt: "r1",
  id: "i",
  partitionKey: "k",
  offset: 17,
  attempt: 1,
  body: "1",
  contentType: null,
  headers: "",
  publishedAt: 5,
  visibleUntil: 6,
  leaseEpoch: 7,
  deadLetter: null,
  ...more,
});
const reply = (...deliveries: DeliveryView[]) =>
  ok({ deliveries, grants: [], partitions: ["k"], partitionsHeld: 1 });
const RECEIVE = "topics/t/groups/g/receive";

let lines: string[];
beforeEach(() => {
  lines = [];
  const keep = (line: string) => void lines.push(line);
  vi.spyOn(console, "error").mockImplementation(keep);
  vi.spyOn(console, "warn").mockImplementation(keep);
});
afterEach(() => {
  vi.restoreAllMocks();
});

describe("the reply", () => {
  test("G12: a JSON body and the headers go out as the text that was stored", async () => {
    const source = '{ "n":1.0,"n":12345678901234567890, "s":"\\ud800","__proto__":1e400}';
    const headers = '{"2":"b","1":"a","__proto__":"p"}';
    const { demo } = makeEdge(() => reply(delivery({ body: source, headers })));
    const text = await (await demo("POST", RECEIVE, { subscriber: "s" })).text();
    expect(text).toContain(`"body":${source},`);
    expect(text).toContain(`"headers":${headers},`);
    expect(() => JSON.parse(text)).not.toThrow();
  });

  test("each delivery has the pinned fields", async () => {
    const bytes = Uint8Array.from({ length: 256 }, (_, i) => i);
    const deadLetter = {
      originalTopic: "t",
      originalId: "i",
      group: "g",
      failedAtMs: 9,
      attempts: 3,
      reason: 'a"b',
    };
    const { demo } = makeEdge(() =>
      reply(
        delivery({ id: 'q"\u2028', body: "null" }),
        delivery({ body: bytes, contentType: "a/b", deadLetter }),
      ),
    );
    const got = await (await demo("POST", RECEIVE, { subscriber: "s" })).json();
    const common = { receipt: "r1", topic: "t", partitionKey: "k", offset: 17, attempt: 1, headers: {} };
    const times = { publishedAt: 5, visibleUntil: 6, leaseEpoch: 7 };
    const { failedAtMs: failedAt, ...shown } = deadLetter;
    expect(got).toStrictEqual({
      deliveries: [
        { ...common, ...times, id: 'q"\u2028', body: null, contentType: "application/json" },
        {
          ...common,
          ...times,
          id: "i",
          bodyBase64: Buffer.from(bytes).toString("base64"),
          contentType: "a/b",
          deadLetter: { ...shown, failedAt },
        },
      ],
      partitions: ["k"],
      partitionsHeld: 1,
    });
  });

  test("the object is asked with the defaults and a take of its own", async () => {
    const { demo, calls } = makeEdge(() => reply());
    await demo("POST", RECEIVE, { subscriber: "s" });
    await demo("POST", RECEIVE, {
      subscriber: "s",
      maxMessages: 1,
      waitMs: 20_000,
      visibilityTimeoutMs: 1000,
    });
    const place = { topic: "t", group: "g", subscriber: "s", takeId: expect.any(String) };
    expect(calls.map(({ input }) => input)).toEqual([
      { ...place, maxMessages: 10, waitMs: 0, visibilityTimeoutMs: null },
      { ...place, maxMessages: 1, waitMs: 20_000, visibilityTimeoutMs: 1000 },
    ]);
    expect(calls[0]?.input.takeId).not.toBe(calls[1]?.input.takeId);
  });
});

describe("give-back", () => {
  /** A take that answers when the test says so. */
  function waitingTake() {
    let answerTake: (outcome: Outcome<unknown>) => void = () => {};
    let failTake: (error: unknown) => void = () => {};
    let taken: () => void = () => {};
    const begun = new Promise<void>((resolve) => {
      taken = resolve;
    });
    const edge = makeEdge(({ name }) => {
      if (name !== "take") return ok(null);
      taken();
      return new Promise((resolve, reject) => {
        answerTake = resolve;
        failTake = reject;
      });
    });
    const client = new AbortController();
    const response = edge.demo(
      "POST",
      RECEIVE,
      { subscriber: "s", waitMs: 20_000 },
      { signal: client.signal },
    );
    return {
      ...edge,
      begun,
      client,
      response,
      answer: (outcome: Outcome<unknown>) => answerTake(outcome),
      fail: (error: unknown) => failTake(error),
      givenBack: () =>
        edge.calls.filter(({ name }) => name === "giveBack").map(({ input }) => input.receipts),
    };
  }

  test("a client that goes away while it waits ends the take; a grant that comes all the same goes back", async () => {
    const { begun, client, answer, response, settled, givenBack, calls } = waitingTake();
    await begun;
    client.abort();
    answer(reply(delivery({ receipt: "r1" }), delivery({ receipt: "r2" })));
    await response;
    await settled();
    expect(givenBack()).toEqual([[], ["r1", "r2"]]);
    const [take, back] = calls;
    expect(back?.input).toMatchObject({ topic: "t", group: "g", takeId: take?.input.takeId });
  });

  test("with nothing granted, one call is enough", async () => {
    const { begun, client, answer, response, settled, givenBack } = waitingTake();
    await begun;
    client.abort();
    answer(reply());
    await response;
    await settled();
    expect(givenBack()).toEqual([[]]);
  });

  test("once the reply is handed over, nothing is given back", async () => {
    const { begun, client, answer, response, settled, givenBack } = waitingTake();
    await begun;
    answer(reply(delivery()));
    expect((await response).status).toBe(200);
    client.abort();
    await settled();
    expect(givenBack()).toEqual([]);
  });

  test("a client that was gone before the request came is noticed as well", async () => {
    const edge = makeEdge(({ name }) => (name === "take" ? reply(delivery()) : ok(null)));
    const response = await edge.demo("POST", RECEIVE, { subscriber: "s" }, { signal: AbortSignal.abort() });
    expect(response.status).toBe(499);
    await edge.settled();
    const receipts = edge.calls.filter(({ name }) => name === "giveBack").map(({ input }) => input.receipts);
    expect(receipts).toEqual([[], ["r1"]]);
  });

  test("a take whose answer is lost is given back by its name", async () => {
    const { begun, fail, response, settled, givenBack } = waitingTake();
    await begun;
    fail(Object.assign(new Error("lost"), { retryable: true }));
    expect((await response).status).toBe(503);
    await settled();
    expect(givenBack()).toEqual([[]]);
  });

  test("a reply that cannot be written gives its receipts back", async () => {
    const { begun, answer, response, settled, givenBack } = waitingTake();
    await begun;
    const bodyless = delivery({ receipt: "r9", contentType: "a/b", body: undefined as never });
    answer(reply(bodyless));
    expect((await response).status).toBe(500);
    await settled();
    expect(givenBack()).toEqual([["r9"]]);
  });

  test("what the object itself refuses is no grant", async () => {
    const { begun, answer, response, settled, givenBack } = waitingTake();
    await begun;
    answer({ ok: false, error: { code: "not-found", detail: "d" } });
    expect((await response).status).toBe(404);
    await settled();
    expect(givenBack()).toEqual([]);
  });

  test("a give-back that fails is told, and fails nothing else", async () => {
    const edge = makeEdge(({ name }) => {
      if (name === "take") throw Object.assign(new Error("lost"), { retryable: true });
      throw new Error("the object broke");
    });
    expect((await edge.demo("POST", RECEIVE, { subscriber: "s" })).status).toBe(503);
    await edge.settled();
    expect(JSON.parse(lines.at(-1) ?? "")).toMatchObject({ level: "warn", event: "give-back-failed" });
  });
});

describe("the size of the reply", () => {
  const MIB = 1024 * 1024;
  const large = (i: number) => delivery({ receipt: `r${i}`, contentType: "a/b", body: new Uint8Array(MIB) });

  test("what would take it over 8 MiB is given back before the reply, from the end", async () => {
    const all = Array.from({ length: 8 }, (_, i) => large(i));
    const { demo, calls } = makeEdge(({ name }) => (name === "take" ? reply(...all) : ok(null)));
    const text = await (await demo("POST", RECEIVE, { subscriber: "s" })).text();
    expect(text.length).toBeLessThanOrEqual(8 * MIB);
    const sent = (JSON.parse(text) as { deliveries: DeliveryView[] }).deliveries.map(
      ({ receipt }) => receipt,
    );
    expect(sent).toEqual(["r0", "r1", "r2", "r3", "r4"]);
    expect(calls.map(({ name }) => name)).toEqual(["take", "giveBack"]);
    expect(calls[1]?.input.receipts).toEqual(["r5", "r6", "r7"]);
  });

  test("it counts bytes, not characters; the first delivery goes out whatever its size", () => {
    const body = `"${"é".repeat(100)}"`;
    const take = {
      deliveries: [delivery({ body }), delivery({ body })],
      grants: [],
      partitions: ["é"],
      partitionsHeld: 1,
    };
    const bytesOf = (text: string) => new TextEncoder().encode(text).length;
    const whole = receiveReplyText("t", take, 10_000);
    expect(whole.left).toEqual([]);
    const size = bytesOf(whole.text);
    expect(receiveReplyText("t", take, size).left).toEqual([]);
    const cut = receiveReplyText("t", take, size - 1);
    expect(cut.left).toHaveLength(1);
    expect(receiveReplyText("t", take, 1).text).toBe(cut.text);
  });
});

describe("a reply to a client that may be gone", () => {
  /** A request whose client goes away when its reply begins to be read. */
  function setup(read: "first byte" | "all") {
    const client = new AbortController();
    const waits: Promise<unknown>[] = [];
    const given: string[] = [];
    const request = { signal: client.signal } as Request;
    const call = { request, waitUntil: (work: Promise<unknown>) => void waits.push(work) };
    const response = probedResponse(call, '{"a":"é"}', async () => {
      given.push("back");
    });
    const settled = async () => {
      if (read === "first byte") {
        const reader = response.body?.getReader();
        await reader?.read();
        client.abort();
        await reader?.read().catch(() => undefined);
      }
      const text = read === "all" ? await response.text() : "";
      await Promise.all(waits);
      return { text, given };
    };
    return { settled };
  }

  test("is whole when the client is there", async () => {
    expect(await setup("all").settled()).toEqual({ text: '{"a":"é"}', given: [] });
  });

  test("is broken off after its first byte, and given back, when the client has gone", async () => {
    expect(await setup("first byte").settled()).toEqual({ text: "", given: ["back"] });
  });
});
