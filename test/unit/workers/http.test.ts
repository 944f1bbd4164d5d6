import { describe, expect, test } from "vitest";
import { type Failure, FairlaneError } from "../../../src/core/failure.ts";
import { operations } from "../../../src/protocol/operations.ts";
import { problemResponse } from "../../../src/workers/http/problem-response.ts";
import { readBody } from "../../../src/workers/http/read-body.ts";
import { requestIdOf } from "../../../src/workers/http/request-id.ts";
import { readJson, readQuery } from "../../../src/workers/http/validate.ts";

async function failureOf(work: () => unknown): Promise<Failure> {
  try {
    await work();
  } catch (error) {
    if (error instanceof FairlaneError) return error.failure;
    throw error;
  }
  throw new Error("nothing was refused");
}

/** A request whose body comes in chunks, and says of its length what it likes. */
function streamed(chunks: number[], headers: Record<string, string> = {}) {
  let pulled = 0;
  const body = new ReadableStream({
    type: "bytes",
    pull(controller) {
      const size = chunks[pulled++];
      if (size !== undefined) return controller.enqueue(new Uint8Array(size).fill(pulled));
      controller.close();
      controller.byobRequest?.respond(0);
    },
  });
  const request = new Request("http://t/", { method: "POST", body, headers, duplex: "half" } as RequestInit);
  return { request, pulled: () => pulled };
}

describe("reading a body", () => {
  test("joins its chunks in order", async () => {
    expect(await readBody(streamed([2, 1]).request)).toEqual(new Uint8Array([1, 1, 2]));
    const chunks = Array(30).fill(1000);
    const expected = Uint8Array.from({ length: 30_000 }, (_, i) => Math.floor(i / 1000) + 1);
    for (const announced of ["30000", "7", "29999", "40000"]) {
      expect(await readBody(streamed(chunks, { "content-length": announced }).request)).toEqual(expected);
    }
    expect(await readBody(streamed(chunks).request)).toEqual(expected);
    expect(await readBody(streamed([]).request)).toEqual(new Uint8Array(0));
    expect(await readBody(new Request("http://t/", { method: "POST" }))).toEqual(new Uint8Array(0));
  });

  test("up to the bound, and no byte more", async () => {
    expect(await readBody(streamed([50, 50]).request, 100)).toHaveLength(100);
    expect((await failureOf(() => readBody(streamed([50, 51]).request, 100))).code).toBe("payload-too-large");
  });

  test("stops reading at the bound where no length is announced", async () => {
    const { request, pulled } = streamed(Array(1000).fill(50), {});
    expect((await failureOf(() => readBody(request, 100))).code).toBe("payload-too-large");
    expect(pulled()).toBeLessThan(6);
  });

  test("refuses what is over the bound although content-length lies, which on the wire it cannot", async () => {
    const { request } = streamed(Array(1000).fill(50), { "content-length": "7" });
    expect((await failureOf(() => readBody(request, 100))).code).toBe("payload-too-large");
  });

  test("does not begin where content-length is over the bound", async () => {
    const { request, pulled } = streamed([1, 1, 1], { "content-length": "101" });
    expect((await failureOf(() => readBody(request, 100))).code).toBe("payload-too-large");
    expect(pulled()).toBeLessThan(2);
  });

  test("a body that breaks off is the sender's fault", async () => {
    const body = new ReadableStream({
      type: "bytes",
      pull: (controller) => controller.error(new Error("gone")),
    });
    const request = new Request("http://t/", { method: "POST", body, duplex: "half" } as RequestInit);
    expect((await failureOf(() => readBody(request))).code).toBe("invalid-request");
  });

  test("a content coding is refused: its bytes would be stored and its name lost", async () => {
    const request = new Request("http://t/", {
      method: "POST",
      body: "x",
      headers: { "content-encoding": "gzip" },
    });
    expect(await failureOf(() => readBody(request))).toMatchObject({
      issues: [{ path: "content-encoding" }],
    });
  });
});

describe("queries", () => {
  const schema = operations.listMessages.query;

  test("are decoded as UTF-8, with their defaults", () => {
    expect(readQuery(schema, "?partitionKey=%D0%BA+%26&after=7")).toEqual({
      partitionKey: "к &",
      after: 7,
      limit: 100,
    });
    expect(readQuery(schema, "")).toEqual({ limit: 100 });
    expect(readQuery(schema, "?&limit=1&")).toEqual({ limit: 1 });
  });

  test.each([
    ["limit=1&limit=1", "limit"],
    ["limit=1&l%69mit=2", "limit"],
    ["key=a", "key"],
    ["__proto__=a", "__proto__"],
    ["partitionKey=%ff", "partitionKey"],
    ["partitionKey=%", "partitionKey"],
    ["partitionKey", "partitionKey"],
    ["limit=", "limit"],
    ["limit=0", "limit"],
    ["limit=101", "limit"],
    ["limit=1e1", "limit"],
    ["limit=+1", "limit"],
    ["limit=01", "limit"],
    ["after=-1", "after"],
    ["after=9007199254740992", "after"],
  ])("?%s is refused at %s", async (search, path) => {
    expect((await failureOf(() => readQuery(schema, search))).issues?.map((issue) => issue.path)).toEqual([
      path,
    ]);
  });

  test("a flag is true or false, in letters", async () => {
    const { query } = operations.deleteGroup;
    expect(readQuery(query, "force=true")).toEqual({ force: true });
    expect(readQuery(query, "force=false")).toEqual({ force: false });
    for (const value of ["", "1", "TRUE", "true%20"]) {
      expect((await failureOf(() => readQuery(query, `force=${value}`))).code).toBe("invalid-request");
    }
  });

  test("a flood of parameters is not read to its end", async () => {
    const search = Array.from({ length: 100_000 }, (_, i) => `p${i}=`).join("&");
    expect((await failureOf(() => readQuery(schema, search))).issues?.length).toBeLessThanOrEqual(20);
  });
});

describe("JSON bodies", () => {
  const bytes = (text: string) => new TextEncoder().encode(text);

  test("where none is taken, nothing and an empty object pass", async () => {
    expect(readJson({ kind: "none" }, bytes(""))).toBeNull();
    expect(readJson({ kind: "none" }, bytes(" {} "))).toBeNull();
    for (const text of ["[1]", "null", "1", '{"a":1}', "x", " "]) {
      expect((await failureOf(() => readJson({ kind: "none" }, bytes(text)))).code).toBe("invalid-request");
    }
  });

  test("an optional one may be absent, another not", async () => {
    expect(readJson(operations.redrive.body, bytes(""))).toEqual({});
    expect((await failureOf(() => readJson(operations.receive.body, bytes("")))).issues).toEqual([
      { path: "", message: "must be JSON" },
    ]);
  });
});

describe("problems", () => {
  const codes = Object.entries({
    "invalid-request": 400,
    unauthorized: 401,
    forbidden: 403,
    "unknown-tenant": 404,
    "not-found": 404,
    "payload-too-large": 413,
    "rate-limited": 429,
    conflict: 409,
    "store-unavailable": 503,
    internal: 500,
  }) as [Failure["code"], number][];

  test.each(codes)("%s answers %i", async (code, status) => {
    const response = problemResponse({ code, detail: "the detail" }, "r1");
    expect(response.status).toBe(status);
    expect(response.headers.get("content-type")).toBe("application/problem+json");
    expect(response.headers.get("x-request-id")).toBe("r1");
    expect(await response.json()).toMatchObject({ type: `urn:fairlane:${code}`, status });
  });

  test("what went wrong inside stays inside", async () => {
    const response = problemResponse({ code: "internal", detail: "table queue_messages" }, "r1");
    expect(await response.text()).not.toContain("queue_messages");
  });

  test.each([
    [undefined, "1"],
    [0, "1"],
    [1, "1"],
    [1000, "1"],
    [1001, "2"],
    [60_000, "60"],
  ])("retryAfterMs %s is Retry-After %s", (retryAfterMs, seconds) => {
    const failure: Failure = {
      code: "rate-limited",
      detail: "d",
      ...(retryAfterMs === undefined ? {} : { retryAfterMs }),
    };
    expect(problemResponse(failure, "r1").headers.get("retry-after")).toBe(seconds);
  });
});

describe("request IDs", () => {
  test("a short plain one is taken over, anything else replaced", () => {
    const idOf = (value: string) => requestIdOf(new Headers({ "x-request-id": value }));
    expect(idOf("abc-1.2_3")).toBe("abc-1.2_3");
    for (const value of ["", "a b", 'a"b', "a".repeat(65), "a,b", "é"])
      expect(idOf(value)).toMatch(/^[0-9a-f-]{36}$/);
    expect(requestIdOf(new Headers())).not.toBe(requestIdOf(new Headers()));
  });
});
