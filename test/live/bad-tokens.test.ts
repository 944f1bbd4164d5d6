import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type Live, numbered, SECRET, setup } from "./harness.ts";
import { expectProblem } from "./problem.ts";
import { inSeconds, signToken, tenantToken } from "./tokens.ts";

let live: Live;
beforeAll(async () => {
  live = await setup();
  await live.api("demo").putTopic("t", {});
});
afterAll(() => live?.close());

const ALL = "publish consume admin";
const good = () => ({ tenant: "demo", scope: ALL, exp: inSeconds(600) });
const unsigned = (header: object) =>
  `${[header, good()].map((part) => Buffer.from(JSON.stringify(part)).toString("base64url")).join(".")}.`;

describe("401", () => {
  const tokens: [string, () => string][] = [
    ["garbage", () => "garbage"],
    ["dots", () => ".."],
    ["another secret", () => signToken(`${SECRET}x`, good())],
    ["an empty secret", () => signToken("", good())],
    ["a cut signature", () => signToken(SECRET, good()).slice(0, -2)],
    ["a longer signature", () => `${signToken(SECRET, good())}AA`],
    ["no signature", () => signToken(SECRET, good()).replace(/[^.]*$/, "")],
    ["a changed payload", () => swapPayload(signToken(SECRET, good()), { ...good(), tenant: "acme" })],
    ["alg none", () => unsigned({ alg: "none", typ: "JWT" })],
    ["alg NONE", () => unsigned({ alg: "NONE" })],
    ["alg none with a signature", () => signToken(SECRET, good(), { alg: "none" })],
    ["alg HS512", () => signToken(SECRET, good(), { alg: "HS512", typ: "JWT" }, "sha512")],
    ["alg HS512 signed as HS256", () => signToken(SECRET, good(), { alg: "HS512", typ: "JWT" })],
    ["alg RS256 signed with the secret", () => signToken(SECRET, good(), { alg: "RS256", typ: "JWT" })],
    ["no alg", () => signToken(SECRET, good(), { typ: "JWT" })],
    ["expired", () => signToken(SECRET, { ...good(), exp: inSeconds(-1) })],
    ["no exp", () => signToken(SECRET, { tenant: "demo", scope: ALL })],
    ["exp as text", () => signToken(SECRET, { ...good(), exp: String(inSeconds(600)) })],
    ["exp null", () => signToken(SECRET, { ...good(), exp: null })],
    ["no tenant", () => signToken(SECRET, { scope: ALL, exp: inSeconds(600) })],
    ["a list of tenants", () => signToken(SECRET, { ...good(), tenant: ["demo"] })],
    ["no scope", () => signToken(SECRET, { tenant: "demo", exp: inSeconds(600) })],
    ["a list of scopes", () => signToken(SECRET, { ...good(), scope: ["publish", "consume", "admin"] })],
  ];
  test.each(tokens)("%s", async (_, make) => {
    const api = live.api("demo", make());
    expectProblem(await api.request("GET", "topics"), "unauthorized");
    const json = { messages: numbered(1, "k") };
    expectProblem(await api.request("POST", "topics/t/messages", { json }), "unauthorized");
    expect(await live.api("demo").listMessages("t")).toEqual([]);
  });

  const headers: [string, Record<string, string>][] = [
    ["no header", {}],
    ["an empty header", { authorization: "" }],
    ["the scheme alone", { authorization: "Bearer" }],
    ["another scheme", { authorization: `Basic ${tenantToken(SECRET, "demo")}` }],
    ["no scheme", { authorization: tenantToken(SECRET, "demo") }],
    ["two tokens", { authorization: `Bearer ${tenantToken(SECRET, "demo")} ${tenantToken(SECRET, "demo")}` }],
  ];
  test.each(headers)("%s", async (_, given) => {
    const reply = await live.api("demo", null).request("GET", "topics", { headers: given });
    expectProblem(reply, "unauthorized");
  });

  test("a token in the query does not count", async () => {
    const token = tenantToken(SECRET, "demo");
    expectProblem(
      await live.api("demo", null).request("GET", `topics?access_token=${token}`),
      "unauthorized",
    );
  });

  test("a token that was good ends when it expires, also when it was seen before", async () => {
    const exp = inSeconds(2);
    const api = live.api("demo", signToken(SECRET, { ...good(), exp }));
    let status = (await api.request("GET", "topics")).status;
    expect(status).toBe(200);
    while (status === 200 && Date.now() < (exp + 2) * 1000)
      status = (await api.request("GET", "topics")).status;
    expect(status).toBe(401);
    expect(Date.now()).toBeGreaterThanOrEqual(exp * 1000 - 5);
  });
});

describe("403", () => {
  test("another tenant's token, for every kind of call", async () => {
    const foreign = live.api("demo", tenantToken(SECRET, "acme"));
    const calls: [string, string, unknown?][] = [
      ["GET", "topics"],
      ["POST", "topics/t/messages", { messages: numbered(1, "k") }],
      ["POST", "topics/t/raw", { raw: true }],
      ["POST", "topics/t/groups/g/receive", { subscriber: "s" }],
      ["POST", "topics/t/groups/g/settle", { settlements: [{ receipt: "r", action: "ack" }] }],
      ["PUT", "topics/t", {}],
      ["DELETE", "topics/t/messages"],
      ["POST", "gc"],
    ];
    for (const [method, path, json] of calls) {
      const options = json === undefined ? {} : { json };
      expectProblem(await foreign.request(method, path, options), "forbidden");
    }
    expect(await live.api("demo").getTopic("t")).toMatchObject({ messages: 0, groups: [] });
  });

  test.each(["demo ", "DEMO", "dem", "demo,acme", "%2a", "**", "", "demo/../acme"])(
    "the claim tenant %j is not demo",
    async (tenant) => {
      const api = live.api("demo", tenantToken(SECRET, tenant));
      const reply = await api.request("GET", "topics");
      expect([401, 403]).toContain(reply.status);
      expectProblem(reply, reply.status === 401 ? "unauthorized" : "forbidden");
    },
  );

  test.each(["", "publish", "Consume", "consumer", "publish,consume", "admin:all", "*"])(
    "the scope %j does not read topics",
    async (scope) => {
      const api = live.api("demo", tenantToken(SECRET, "demo", scope));
      expectProblem(await api.request("GET", "topics"), "forbidden");
    },
  );

  test("extra scopes and white space between scopes do no harm", async () => {
    const api = live.api("demo", tenantToken(SECRET, "demo", "  billing   consume "));
    expect((await api.request("GET", "topics")).status).toBe(200);
  });
});

describe("before anything else is looked at", () => {
  test("no token beats a bad name, a bad body and an unknown tenant", async () => {
    const nobody = live.api("nobody", null);
    expectProblem(await nobody.request("POST", "topics/BAD/messages", { text: "{" }), "unauthorized");
    expectProblem(await live.api("demo", null).request("GET", "topics?x=1"), "unauthorized");
  });

  test("a foreign token beats them too", async () => {
    const foreign = live.api("nobody", tenantToken(SECRET, "demo"));
    expectProblem(await foreign.request("POST", "topics/BAD/messages", { text: "{" }), "forbidden");
  });

  test("a missing scope beats a bad body", async () => {
    const api = live.api("demo", tenantToken(SECRET, "demo", "consume"));
    expectProblem(await api.request("POST", "topics/t/messages", { text: "{" }), "forbidden");
  });
});

describe("unknown tenants", () => {
  test.each([
    "nobody",
    "demo2",
    "Demo",
    "d",
    "__proto__",
    "constructor",
    "%2A",
    "a".repeat(65),
    "%00",
    "%F0%9F%9A%9A",
  ])("%s", async (tenant) => {
    const api = live.api(tenant, tenantToken(SECRET, "*"));
    expectProblem(await api.request("GET", "topics"), "unknown-tenant");
    const json = { messages: numbered(1, "k") };
    expectProblem(await api.request("POST", "topics/t/messages", { json }), "unknown-tenant");
  });

  test("a token for the unknown tenant itself is no help", async () => {
    const api = live.api("nobody", tenantToken(SECRET, "nobody"));
    expectProblem(await api.request("POST", "topics/t/messages", { json: {} }), "unknown-tenant");
  });
});

function swapPayload(token: string, claims: object): string {
  const [header, , signature] = token.split(".");
  return `${header}.${Buffer.from(JSON.stringify(claims)).toString("base64url")}.${signature}`;
}
