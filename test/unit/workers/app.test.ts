import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import type { Failure } from "../../../src/core/failure.ts";
import { operationList } from "../../../src/protocol/operations.ts";
import { makeEdge, ok, SECRET } from "./edge.ts";

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

async function codeOf(response: Response): Promise<string> {
  expect(response.headers.get("content-type")).toBe("application/problem+json");
  expect(response.headers.get("x-request-id")).toMatch(/\S/);
  const { type } = (await response.json()) as { type: string };
  return `${response.status} ${type.replace("urn:fairlane:", "")}`;
}

const edge = () => makeEdge(() => ok({}));

describe("what comes first", () => {
  test("the token, then the tenant, then names, then the body; and no call before all are well", async () => {
    const { send, calls } = edge();
    const bad = "/v1/tenants/nobody/topics/BAD/messages?x=1";
    expect(await codeOf(await send("POST", bad, { body: "{", headers: { authorization: "" } }))).toBe(
      "401 unauthorized",
    );
    expect(await codeOf(await send("POST", bad, { body: "{" }))).toBe("403 forbidden");
    expect(await codeOf(await send("POST", bad, { body: "{", tenant: "*", scope: "consume" }))).toBe(
      "403 forbidden",
    );
    expect(await codeOf(await send("POST", bad, { body: "{", tenant: "*" }))).toBe("404 unknown-tenant");
    const named = bad.replace("nobody", "demo");
    expect(await codeOf(await send("POST", named, { body: "{" }))).toBe("400 invalid-request");
    expect(calls).toEqual([]);
  });

  test("every operation but the open ones needs a token, and one of its scopes", async () => {
    const { send, calls } = edge();
    for (const [, { method, path, scopes }] of operationList()) {
      const at = path.replace("{tenant}", "demo").replaceAll(/\{\w+\}/g, "x");
      if (scopes.length === 0) {
        expect((await send(method, at, { headers: { authorization: "" } })).status).toBe(200);
        continue;
      }
      expect(await codeOf(await send(method, at, { headers: { authorization: "" } }))).toBe(
        "401 unauthorized",
      );
      const others = ["publish", "consume", "admin"].filter((scope) => !scopes.includes(scope as never));
      expect(await codeOf(await send(method, at, { scope: others.join(" ") }))).toBe("403 forbidden");
    }
    expect(calls).toEqual([]);
  });

  test.each(["__proto__", "constructor", "%00", "*", "a".repeat(65), "Demo"])(
    "tenant %s is unknown",
    async (tenant) => {
      const { send } = edge();
      expect(await codeOf(await send("GET", `/v1/tenants/${tenant}/topics`, { tenant: "*" }))).toBe(
        "404 unknown-tenant",
      );
    },
  );
});

describe("paths and methods", () => {
  test.each([
    "/",
    "/v1",
    "/v1/tenants/demo",
    "/v1/tenants//topics",
    "/v1/tenants/demo/topics/",
    "/healthz/x",
  ])("%s is not found", async (path) => {
    const response = await edge().send("GET", path);
    expect(response.headers.get("allow")).toBeNull();
    expect(await codeOf(response)).toBe("404 not-found");
  });

  test("a known path under another method says which it takes", async () => {
    const response = await edge().send("PATCH", "/v1/tenants/demo/topics/t");
    expect(response.headers.get("allow")).toBe("GET, HEAD, OPTIONS, PUT");
    expect(await codeOf(response)).toBe("404 not-found");
    const options = await edge().send("OPTIONS", "/v1/tenants/demo/topics/t/messages");
    expect([options.status, options.headers.get("allow")]).toEqual([204, "DELETE, GET, HEAD, OPTIONS, POST"]);
    expect(options.headers.get("x-request-id")).toMatch(/\S/);
  });

  test("HEAD is GET without its body", async () => {
    const response = await edge().send("HEAD", "/healthz");
    expect([response.status, await response.text()]).toEqual([200, ""]);
    expect(response.headers.get("x-request-id")).toMatch(/\S/);
  });

  test("names are percent-decoded once, and a bad one is named", async () => {
    const { send, calls } = edge();
    expect((await send("GET", "/v1/tenants/demo/topics/%74")).status).toBe(200);
    expect(calls[0]?.input).toEqual({ topic: "t" });
    for (const topic of ["%2574", "%zz", "%ff", "a%2Fb", "T", "*"]) {
      const response = await send("GET", `/v1/tenants/demo/topics/${topic}`);
      expect(await response.json()).toMatchObject({ issues: [{ path: "topic" }] });
    }
  });
});

describe("publishing", () => {
  const results = (...duplicates: boolean[]) =>
    ok({ results: duplicates.map((duplicate) => ({ duplicate })), stored: null, late: false });

  test("answers in request order; a made ID is never a duplicate, even where the call was carried out twice", async () => {
    const { demo } = makeEdge(() => results(true, true));
    const reply = await demo("POST", "topics/t/messages", {
      messages: [{ id: "a", partitionKey: "k", body: 1 }, { body: 2 }],
    });
    const { messages } = (await reply.json()) as { messages: { id: string; duplicate: boolean }[] };
    expect(messages[0]).toEqual({ id: "a", partitionKey: "k", duplicate: true });
    expect(messages[1]?.duplicate).toBe(false);
  });

  test.each(["messages", "raw"])("to a dead-letter topic is refused: %s", async (kind) => {
    const { demo, calls } = edge();
    const reply = await demo("POST", `topics/t_dlq/${kind}`, { messages: [{ body: 1 }] });
    expect(await reply.json()).toMatchObject({ status: 400, issues: [{ path: "topic" }] });
    expect(calls).toEqual([]);
  });

  test("raw bytes go as they are", async () => {
    const { send, calls } = makeEdge(() => results(false));
    const body = Uint8Array.from({ length: 256 }, (_, i) => i);
    const headers = { "x-fairlane-id": "i", "x-fairlane-partition-key": "k", "content-type": "a/b" };
    expect((await send("POST", "/v1/tenants/demo/topics/t/raw", { body, headers })).status).toBe(200);
    expect(calls[0]?.input).toEqual({
      topic: "t",
      messages: [{ id: "i", partitionKey: "k", contentType: "a/b", headers: "", delayMs: 0, body }],
    });
  });

  test("bodies are kept out of logs and errors", async () => {
    const { demo } = makeEdge(() => Promise.reject(new Error("the object broke")));
    const reply = await demo("POST", "topics/t/messages", { messages: [{ body: "TOP-SECRET-BODY" }] });
    expect(await codeOf(reply)).toBe("500 internal");
    expect(lines).toHaveLength(1);
    expect(JSON.parse(lines[0] ?? "")).toMatchObject({
      level: "error",
      event: "request-failed",
      message: "the object broke",
    });
    expect(lines[0]).not.toContain("TOP-SECRET-BODY");
    expect(lines[0]).not.toContain("Bearer");
  });
});

describe("failures of the object", () => {
  const failures: Failure[] = [
    { code: "conflict", detail: "the group has subscribers" },
    { code: "rate-limited", detail: "tenant storage full", retryAfterMs: 2500 },
    { code: "invalid-request", detail: "d", issues: [{ path: "maxRetentionMs", message: "m" }] },
  ];
  test.each(failures)("$code reaches the caller whole", async (error) => {
    const reply = await makeEdge(() => ({ ok: false, error })).demo("GET", "topics");
    expect(reply.headers.get("retry-after")).toBe(error.code === "rate-limited" ? "3" : null);
    const { code, retryAfterMs: _, ...shown } = error;
    expect(await reply.json()).toMatchObject({ type: `urn:fairlane:${code}`, ...shown });
    expect(lines).toEqual([]);
  });
});

describe("a Worker that is not configured", () => {
  test.each([
    [{ AUTH: "off" }, "loopback"],
    [{ AUTH_SECRET: "" }, "AUTH_SECRET"],
    [{ MQ_TENANTS: "A" }, "MQ_TENANTS"],
    [{ MESSAGE_LOG: "mysql" }, "MESSAGE_LOG"],
    [{ MESSAGE_LOG: "vitess" }, "DATABASE_URL"],
  ])("%j: answers 500 to every request, and the log says why", async (variables, reason) => {
    const { send, calls } = makeEdge(() => ok({}), variables);
    for (const path of ["/healthz", "/openapi.json", "/nothing", "/v1/tenants/demo/topics"]) {
      expect(await codeOf(await send("GET", path))).toBe("500 internal");
    }
    expect(calls).toEqual([]);
    const reasons = lines
      .map((line) => JSON.parse(line))
      .filter(({ event }) => event === "configuration-invalid");
    expect(reasons).toHaveLength(4);
    for (const line of reasons)
      expect(line).toMatchObject({ reason: expect.stringContaining(reason), requestId: expect.any(String) });
    expect(lines.join()).not.toContain(SECRET);
  });

  test("without authorisation on loopback everybody is let in, to tenants that exist", async () => {
    const { send } = makeEdge(() => ok({ topics: [] }), { AUTH: "off", FAIRLANE_LOOPBACK: "true" });
    const headers = { authorization: "" };
    expect((await send("GET", "/v1/tenants/demo/topics", { headers })).status).toBe(200);
    expect(await codeOf(await send("GET", "/v1/tenants/nobody/topics", { headers }))).toBe(
      "404 unknown-tenant",
    );
  });
});

describe("what the object is asked", () => {
  test("settings hold what was given, and nothing undefined", async () => {
    const { demo, calls } = edge();
    await demo("PUT", "topics/t/groups/g", { paused: true, retry: { multiplier: 3 } });
    await demo("PUT", "topics/t", {});
    expect(calls.map(({ input }) => input)).toStrictEqual([
      { topic: "t", group: "g", settings: { paused: true, retry: { multiplier: 3 } } },
      { topic: "t", settings: {} },
    ]);
  });

  test("absent query and body fields are null or their default", async () => {
    const { demo, calls } = edge();
    await demo("DELETE", "topics/t/groups/g");
    await demo("GET", "topics/t/groups/g/lag?after=~3");
    await demo("GET", "topics/t/groups/g/leases");
    await demo("POST", "topics/t/dead-letters/redrive");
    await demo("GET", "topics/t/dead-letters?after=5");
    expect(calls.map(({ input }) => input)).toEqual([
      { topic: "t", group: "g", force: false },
      { topic: "t", group: "g", after: "~3", limit: 100 },
      { topic: "t", group: "g", staleForMs: null },
      { topic: "t", ids: null, group: null, limit: null },
      { topic: "t", after: 5, limit: 100 },
    ]);
  });

  test("settlements in order, reasons cut", async () => {
    const { demo, calls } = makeEdge(() => ok([{ receipt: "r", status: "ok" }]));
    const settlements = [
      { receipt: "r", action: "nack", reason: "x".repeat(2000), delayMs: 1 },
      { receipt: "r", action: "ack" },
    ];
    const reply = await demo("POST", "topics/t/groups/g/settle", { settlements });
    expect(await reply.json()).toEqual({ results: [{ receipt: "r", status: "ok" }] });
    const { input } = calls[0] ?? {};
    expect(input.subscriber).toBeNull();
    expect(input.settlements[0].reason).toHaveLength(1000);
    expect(input.settlements[1]).toEqual({ receipt: "r", action: "ack" });
  });
});
