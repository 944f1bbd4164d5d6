import { describe, expect, test, vi } from "vitest";
import { Fairlane, FairlaneApiError, FairlaneNetworkError } from "../../../src/client/fairlane.ts";
import { brokenConnection, hang, json, noContent, outcomeOf, problem, Wire } from "./wire.ts";

const topics = { topics: ["a"] };

describe("a call", () => {
  test("goes to the tenant's path with the token", async () => {
    const wire = new Wire(() => json(topics));
    expect(await wire.client().admin.listTopics()).toEqual(topics);
    expect(wire.sent).toMatchObject([
      {
        method: "GET",
        path: "/v1/tenants/demo/topics",
        headers: { authorization: "Bearer a.b.c" },
        text: "",
      },
    ]);
    expect(wire.time.pendingTimers).toBe(0);
  });

  test("keeps the path of a server behind a proxy, and sends no token where there is none", async () => {
    const wire = new Wire(() => json(topics));
    const client = new Fairlane(
      { url: "https://queue.test/fairlane//", tenant: "demo", fetch: wire.fetch },
      wire.time,
    );
    await client.admin.health();
    expect(wire.sent).toMatchObject([{ path: "/fairlane/healthz" }]);
    expect(wire.sent[0]?.headers).not.toHaveProperty("authorization");
  });

  test("writes keys and IDs into the query so that they come out the same", async () => {
    const wire = new Wire(() => noContent());
    const id = "a/b c&d=é🚚+%";
    await wire.client().admin.deleteMessage("t", { id, partitionKey: "p" });
    const search = new URL(wire.sent[0]?.path ?? "", "http://x").searchParams;
    expect(Object.fromEntries(search)).toEqual({ id, partitionKey: "p" });
  });

  test.each([
    ["url", { url: "queue.test" }],
    ["url", { url: "ftp://queue.test" }],
    ["url", { url: "http://user:secret@queue.test" }],
    ["url", { url: "http://queue.test/?a=b" }],
    ["tenant", { tenant: "Demo" }],
    ["tenant", { tenant: undefined as unknown as string }],
    ["requestTimeoutMs", { requestTimeoutMs: 0 }],
    ["requestTimeoutMs", { requestTimeoutMs: Number.NaN }],
    ["retryForMs", { retryForMs: -1 }],
  ])("is not possible with a bad %s", (name, options) => {
    const make = () => new Wire(() => json({})).client(options);
    expect(make).toThrow(TypeError);
    expect(make).toThrow(name);
    expect(make).not.toThrow("secret");
  });

  test.each(["..", "a/b", "", "A", "a?b", `${"t".repeat(125)}`])(
    "refuses the name %j before it is written into a URL",
    async (name) => {
      const wire = new Wire(() => json({}));
      const { admin } = wire.client();
      expect(() => admin.getTopic(name)).toThrow(TypeError);
      expect(() => admin.getGroup("t", name.length > 124 ? `${name}tttt` : name)).toThrow(
        /name of the group/,
      );
      await expect(wire.client().publish(name, { body: 1 })).rejects.toThrow(/name of the topic/);
      await expect(wire.client().leave("t", "g", "a/b")).rejects.toThrow(/name of the subscriber/);
      expect(wire.sent).toEqual([]);
    },
  );
});

describe("a refusal", () => {
  test("is an error with all that the server said", async () => {
    const issues = [{ path: "messages[0].id", message: "must be a string" }];
    const wire = new Wire(() => problem(400, "invalid-request", { "x-request-id": "r7" }, { issues }));
    const { error } = (await outcomeOf(wire.client().admin.listTopics())) as { error: FairlaneApiError };
    expect(error).toBeInstanceOf(FairlaneApiError);
    expect({ ...error }).toEqual({
      name: "FairlaneApiError",
      code: "invalid-request",
      status: 400,
      detail: "invalid-request!",
      issues,
      requestId: "r7",
      retryAfterMs: null,
      route: null,
      witness: null,
    });
    expect(error.message).toBe(
      "invalid-request: invalid-request! (messages[0].id must be a string) [request r7]",
    );
    expect(wire.sent).toHaveLength(1);
  });

  test("has the other route, and a message that both would take", async () => {
    const witness = { headers: { "x-user": "ab", ["__proto__"]: "v" }, opaqueHeaders: ["n"], key: "k" };
    const wire = new Wire(() => problem(409, "route-overlap", {}, { route: "alice", witness }));
    const filter = { header: "x-user", prefix: "a" };
    const { error } = (await outcomeOf(wire.client().admin.putRoute("t", "g", "bob", { filter }))) as {
      error: FairlaneApiError;
    };
    expect(error).toMatchObject({ code: "route-overlap", status: 409, route: "alice" });
    expect(error.witness).toEqual(witness);
    expect(wire.sent).toHaveLength(1);
  });

  test.each<[string, unknown]>([
    ["none", undefined],
    ["null", null],
    ["a text", "w"],
    ["one without headers", { key: "k" }],
    ["one whose headers are a list", { headers: ["v"] }],
    ["one whose header is no text", { headers: { a: 1 } }],
  ])("a witness that is none is told as none: %s", async (_, witness) => {
    const wire = new Wire(() => problem(409, "route-undecided", {}, { route: 7, witness }));
    await expect(wire.client().admin.getRoute("t", "g", "r")).rejects.toMatchObject({
      code: "route-undecided",
      route: null,
      witness: null,
    });
  });

  test.each([
    ["a page of a proxy", () => new Response("<html>Bad gateway</html>", { status: 404 }), 404],
    ["a redirect", () => new Response(null, { status: 302, headers: { location: "http://other" } }), 302],
    ["a problem of another API", () => json({ type: "urn:other:thing" }, 418), 418],
    ["a success that is not JSON", () => new Response("hello, secret body"), 200],
    ["a success of another shape", () => json({ deliveries: 1 }), 200],
    ["a success that is null", () => json(null), 200],
  ])("%s is told as an unexpected reply", async (_, answer, status) => {
    const wire = new Wire(answer);
    const work = wire.client().receive("t", "g", { subscriber: "s" });
    const { error } = (await outcomeOf(work)) as { error: FairlaneApiError };
    expect(error).toMatchObject({ name: "FairlaneApiError", code: "unexpected-reply", status });
    expect(error.message).not.toContain("secret");
    expect(wire.sent).toHaveLength(1);
  });

  test("a reply without end is given up", async () => {
    const mebibyte = new Uint8Array(1024 * 1024).fill(32);
    let pulled = 0;
    let cancelled = false;
    const wire = new Wire(
      () =>
        new Response(
          new ReadableStream({
            pull: (controller) => {
              pulled += 1;
              controller.enqueue(mebibyte);
            },
            cancel: () => {
              cancelled = true;
            },
          }),
        ),
    );
    await expect(wire.client().admin.listTopics()).rejects.toMatchObject({ code: "unexpected-reply" });
    expect(pulled).toBeLessThan(14);
    expect(cancelled).toBe(true);
  });
});

describe("the token", () => {
  test("is asked for before each request", async () => {
    const wire = new Wire(() => json(topics));
    const token = vi.fn(() => Promise.resolve(`t${token.mock.calls.length}`));
    const { admin } = wire.client({ token });
    await admin.listTopics();
    await admin.listTopics();
    expect(wire.sent.map(({ headers }) => headers.authorization)).toEqual(["Bearer t1", "Bearer t2"]);
  });

  test("is asked for once more after a 401", async () => {
    const wire = new Wire(({ headers }) =>
      headers.authorization === "Bearer new" ? json(topics) : problem(401, "unauthorized"),
    );
    let asked = 0;
    const token = () => {
      asked += 1;
      return asked === 1 ? "old" : "new";
    };
    expect(await wire.client({ token }).admin.listTopics()).toEqual(topics);
    expect(asked).toBe(2);
  });

  test("is asked for only once more, and a text not again", async () => {
    const wire = new Wire(() => problem(401, "unauthorized"));
    await expect(wire.client({ token: () => "t" }).admin.listTopics()).rejects.toMatchObject({ status: 401 });
    expect(wire.sent).toHaveLength(2);
    await expect(wire.client().admin.listTopics()).rejects.toMatchObject({ code: "unauthorized" });
    expect(wire.sent).toHaveLength(3);
  });

  test("that is none is refused without being repeated", async () => {
    const wire = new Wire(() => json(topics));
    for (const token of ["se cret", "secret\n", "", "secret,b"]) {
      const { error } = (await outcomeOf(wire.client({ token }).admin.listTopics())) as { error: Error };
      expect(error).toBeInstanceOf(TypeError);
      expect(error.message).not.toContain("cret");
    }
    expect(wire.sent).toEqual([]);
  });

  test("a function that fails fails the call with its own error", async () => {
    const wire = new Wire(() => json(topics));
    const token = () => Promise.reject(new Error("no vault"));
    await expect(wire.client({ token }).admin.listTopics()).rejects.toThrow("no vault");
  });
});

describe("trying again", () => {
  test("a call that may be repeated goes on through lost connections and 503", async () => {
    const wire = new Wire((_, count) =>
      count === 1 ? brokenConnection() : count === 2 ? problem(503, "store-unavailable") : json(topics),
    );
    const work = wire.client().admin.listTopics();
    await wire.time.advance(1000);
    expect(await work).toEqual(topics);
    // 100 ms and 200 ms, each a quarter shorter by chance.
    expect(wire.sent.map(({ atMs }) => atMs - 5000)).toEqual([0, 75, 225]);
    expect(wire.time.pendingTimers).toBe(0);
  });

  test("waits as long as the server asks, and somewhat longer by chance", async () => {
    const wire = new Wire((_, count) =>
      count === 1 ? problem(429, "rate-limited", { "retry-after": "3" }) : json(topics),
    );
    const work = wire.client().admin.listTopics();
    await wire.time.advance(3299);
    expect(wire.sent).toHaveLength(1);
    await wire.time.advance(1);
    expect(await work).toEqual(topics);
  });

  test("understands a date as well, and what is no time as nothing", async () => {
    const wire = new Wire(() =>
      problem(429, "rate-limited", { "retry-after": "Tue, 14 Nov 2023 22:13:30 GMT" }),
    );
    const client = wire.client({ retryForMs: 0 });
    // The clock stands at 22:13:25.
    await expect(client.admin.listTopics()).rejects.toMatchObject({ retryAfterMs: 5000 });
    wire.role = () => problem(429, "rate-limited", { "retry-after": "soon" });
    await expect(client.admin.listTopics()).rejects.toMatchObject({ retryAfterMs: null });
  });

  test("ends when the time for it is over", async () => {
    const wire = new Wire(() => brokenConnection());
    const work = outcomeOf(wire.client({ retryForMs: 2000 }).admin.listTopics());
    await wire.time.advance(10_000);
    expect(await work).toMatchObject({ error: { name: "FairlaneNetworkError" } });
    expect((wire.sent.at(-1)?.atMs ?? 0) - 5000).toBeLessThanOrEqual(2000);
    expect(wire.sent.length).toBeGreaterThan(3);
  });

  test("ends after ten tries", async () => {
    const wire = new Wire(() => brokenConnection());
    const work = outcomeOf(wire.client({ retryForMs: 3_600_000 }).admin.listTopics());
    await wire.time.advance(3_600_000);
    expect(await work).toMatchObject({ error: { name: "FairlaneNetworkError" } });
    expect(wire.sent).toHaveLength(10);
  });

  test("does not begin where the server asks for more time than there is", async () => {
    const wire = new Wire(() => problem(429, "rate-limited", { "retry-after": "60" }));
    const work = outcomeOf(wire.client().admin.listTopics());
    await wire.time.settle();
    expect(await work).toMatchObject({ error: { retryAfterMs: 60_000 } });
    expect(wire.sent).toHaveLength(1);
  });

  test("a call that may not be repeated ends with the first unknown outcome", async () => {
    for (const answer of [() => brokenConnection(), () => problem(503, "store-unavailable")]) {
      const wire = new Wire(answer);
      const { admin } = wire.client();
      for (const call of [
        () => admin.redrive("t"),
        () => admin.purgeMessages("t"),
        () => admin.deleteMessage("t", { id: "a", partitionKey: "p" }),
        () => admin.resetOffset("t", "g", { partitionKey: "p", offset: 0 }),
      ]) {
        const before = wire.sent.length;
        expect(await outcomeOf<unknown>(call())).toMatchObject({ error: expect.any(Error) });
        expect(wire.sent.length - before).toBe(1);
      }
    }
  });

  test("but where it certainly was not carried out, it goes again", async () => {
    const wire = new Wire((_, count) =>
      count === 1
        ? brokenConnection("ECONNREFUSED")
        : count === 2
          ? problem(429, "rate-limited")
          : json({ redriven: 3 }),
    );
    const work = wire.client().admin.redrive("t");
    await wire.time.advance(1000);
    expect(await work).toEqual({ redriven: 3 });
  });

  test("a receive goes again after 503, which granted nothing, and not after a lost reply", async () => {
    const reply = { deliveries: [], partitions: [], partitionsHeld: 0 };
    const wire = new Wire((_, count) => (count === 1 ? problem(503, "store-unavailable") : json(reply)));
    const work = wire.client().receive("t", "g", { subscriber: "s" });
    await wire.time.advance(1000);
    expect(await work).toEqual(reply);
    wire.role = () => brokenConnection();
    const lost = await outcomeOf(wire.client().receive("t", "g", { subscriber: "s" }));
    expect(lost).toMatchObject({ error: { name: "FairlaneNetworkError", outcomeUnknown: true } });
    expect(wire.sent).toHaveLength(3);
  });

  test("a settlement that a lost try carried out counts as done", async () => {
    const settlements = [
      { receipt: "r1", action: "ack" as const },
      { receipt: "r2", action: "extend" as const, visibilityTimeoutMs: 1000 },
      { receipt: "r3", action: "postpone" as const, delayMs: 1 },
    ];
    const results = settlements.map(({ receipt }) => ({ receipt, status: "settled" }));
    const wire = new Wire((_, count) => (count === 1 ? brokenConnection() : json({ results })));
    const work = wire.client().settle("t", "g", { settlements });
    await wire.time.advance(1000);
    expect((await work).results.map(({ status }) => status)).toEqual(["ok", "settled", "settled"]);
    // Without a lost try it is what the server says.
    expect((await wire.client().settle("t", "g", { settlements })).results).toEqual(results);
    // Refused is not lost.
    wire.sent.length = 0;
    wire.role = (_, count) => (count === 1 ? problem(429, "rate-limited") : json({ results }));
    const refused = wire.client().settle("t", "g", { settlements });
    await wire.time.advance(1000);
    expect((await refused).results).toEqual(results);
  });
});

describe("time and signals", () => {
  test("a request that is not answered ends, and says after how long", async () => {
    const wire = new Wire(hang);
    const work = outcomeOf(wire.client({ retryForMs: 0, requestTimeoutMs: 700 }).admin.listTopics());
    await wire.time.advance(699);
    expect(wire.sent[0]?.signal.aborted).toBe(false);
    await wire.time.advance(1);
    const { error } = (await work) as { error: FairlaneNetworkError };
    expect(error).toBeInstanceOf(FairlaneNetworkError);
    expect(error.message).toBe("no answer from http://queue.test within 700 ms");
    expect(error.outcomeUnknown).toBe(true);
    expect(wire.time.pendingTimers).toBe(0);
  });

  test("a reply that stands still in its middle ends as well", async () => {
    const wire = new Wire(({ signal }) => {
      const body = new ReadableStream<Uint8Array>({
        start: (controller) => {
          controller.enqueue(new TextEncoder().encode('{"topics":['));
          signal.addEventListener("abort", () => controller.error(signal.reason));
        },
      });
      return new Response(body);
    });
    const work = outcomeOf(wire.client({ retryForMs: 0 }).admin.listTopics());
    await wire.time.advance(15_000);
    expect(await work).toMatchObject({ error: { name: "FairlaneNetworkError" } });
  });

  test("a receive may take as long as it was asked to wait, and some more", async () => {
    const wire = new Wire(hang);
    const work = outcomeOf(wire.client().receive("t", "g", { subscriber: "s", waitMs: 20_000 }));
    await wire.time.advance(34_999);
    expect(wire.sent[0]?.signal.aborted).toBe(false);
    await wire.time.advance(1);
    expect(await work).toMatchObject({ error: { message: expect.stringContaining("35000 ms") } });
  });

  test("rejects with the signal's reason: before, during, and between tries", async () => {
    const wire = new Wire(hang);
    const client = wire.client();
    const reason = new Error("enough");
    const before = client.admin.listTopics({ signal: AbortSignal.abort(reason) });
    expect(await outcomeOf(before)).toEqual({ error: reason });
    expect(wire.sent).toEqual([]);

    const during = new AbortController();
    const open = outcomeOf(client.admin.listTopics({ signal: during.signal }));
    await wire.time.settle();
    during.abort(reason);
    expect(await open).toEqual({ error: reason });
    expect(wire.sent[0]?.signal.aborted).toBe(true);

    wire.role = () => brokenConnection();
    const between = new AbortController();
    const waiting = outcomeOf(client.publish("t", { body: 1 }, { signal: between.signal }));
    await wire.time.settle();
    between.abort(reason);
    expect(await waiting).toEqual({ error: reason });
    expect(wire.time.pendingTimers).toBe(0);
  });
});
