import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type Live, SECRET, setup } from "./harness.ts";
import { expectProblem } from "./problem.ts";
import { tenantToken } from "./tokens.ts";

let live: Live;
beforeAll(async () => {
  live = await setup();
});
afterAll(() => live?.close());

describe("without a token", () => {
  test("GET /healthz", async () => {
    const reply = await live.open("GET", "/healthz");
    expect(reply.status).toBe(200);
    expect(reply.json).toMatchObject({ status: "ok", version: expect.stringMatching(/^\d+\.\d+\.\d+/) });
  });

  const OPERATIONS: [string, string][] = [
    ["post", "/v1/tenants/{tenant}/topics/{topic}/messages"],
    ["get", "/v1/tenants/{tenant}/topics/{topic}/messages"],
    ["delete", "/v1/tenants/{tenant}/topics/{topic}/messages"],
    ["post", "/v1/tenants/{tenant}/topics/{topic}/raw"],
    ["post", "/v1/tenants/{tenant}/topics/{topic}/groups/{group}/receive"],
    ["post", "/v1/tenants/{tenant}/topics/{topic}/groups/{group}/settle"],
    ["post", "/v1/tenants/{tenant}/topics/{topic}/groups/{group}/subscribers/{subscriber}/heartbeat"],
    ["delete", "/v1/tenants/{tenant}/topics/{topic}/groups/{group}/subscribers/{subscriber}"],
    ["put", "/v1/tenants/{tenant}/topics/{topic}/groups/{group}"],
    ["get", "/v1/tenants/{tenant}/topics/{topic}/groups/{group}"],
    ["delete", "/v1/tenants/{tenant}/topics/{topic}/groups/{group}"],
    ["put", "/v1/tenants/{tenant}/topics/{topic}"],
    ["get", "/v1/tenants/{tenant}/topics/{topic}"],
    ["get", "/v1/tenants/{tenant}/topics"],
    ["get", "/v1/tenants/{tenant}/topics/{topic}/message"],
    ["delete", "/v1/tenants/{tenant}/topics/{topic}/message"],
    ["get", "/v1/tenants/{tenant}/topics/{topic}/groups/{group}/lag"],
    ["put", "/v1/tenants/{tenant}/topics/{topic}/groups/{group}/offset"],
    ["get", "/v1/tenants/{tenant}/topics/{topic}/groups/{group}/leases"],
    ["delete", "/v1/tenants/{tenant}/topics/{topic}/groups/{group}/lease"],
    ["get", "/v1/tenants/{tenant}/topics/{topic}/groups/{group}/explain"],
    ["get", "/v1/tenants/{tenant}/topics/{topic}/groups/{group}/waiting"],
    ["put", "/v1/tenants/{tenant}/topics/{topic}/groups/{group}/routes/{route}"],
    ["get", "/v1/tenants/{tenant}/topics/{topic}/groups/{group}/routes/{route}"],
    ["get", "/v1/tenants/{tenant}/topics/{topic}/groups/{group}/routes"],
    ["delete", "/v1/tenants/{tenant}/topics/{topic}/groups/{group}/routes/{route}"],
    ["get", "/v1/tenants/{tenant}/topics/{topic}/groups/{group}/subscribers"],
    ["get", "/v1/tenants/{tenant}/overview"],
    ["get", "/v1/tenants/{tenant}/topics/{topic}/dead-letters"],
    ["post", "/v1/tenants/{tenant}/topics/{topic}/dead-letters/redrive"],
    ["delete", "/v1/tenants/{tenant}/topics/{topic}/dead-letters"],
    ["post", "/v1/tenants/{tenant}/gc"],
    ["put", "/v1/tenants/{tenant}/splits/{workload}"],
    ["get", "/v1/tenants/{tenant}/splits/{workload}"],
    ["delete", "/v1/tenants/{tenant}/splits/{workload}"],
    ["post", "/v1/tenants/{tenant}/splits/{workload}/start"],
    ["post", "/v1/tenants/{tenant}/splits/{workload}/stop"],
    ["post", "/v1/tenants/{tenant}/splits/{workload}/resume"],
    ["put", "/v1/tenants/{tenant}/splits/{workload}/routes/{route}"],
    ["get", "/v1/tenants/{tenant}/splits/{workload}/routes/{route}"],
    ["get", "/v1/tenants/{tenant}/splits/{workload}/routes"],
    ["delete", "/v1/tenants/{tenant}/splits/{workload}/routes/{route}"],
    ["get", "/healthz"],
    ["get", "/openapi.json"],
  ];

  test("GET /openapi.json describes every call of the API", async () => {
    const reply = await live.open<{
      openapi: string;
      paths: Record<
        string,
        Record<string, { responses?: object; parameters?: { name: string; in: string }[] }>
      >;
    }>("GET", "/openapi.json");
    expect(reply.status).toBe(200);
    expect(reply.json.openapi).toMatch(/^3\.1\.\d+$/);
    for (const [method, path] of OPERATIONS) {
      const operation = reply.json.paths[path]?.[method];
      expect(operation, `${method} ${path}`).toBeDefined();
      expect(Object.keys(operation?.responses ?? {}), `${method} ${path}`).toContainEqual(
        expect.stringMatching(/^20[04]$/),
      );
    }
    const described = Object.entries(reply.json.paths).flatMap(([path, item]) =>
      Object.keys(item)
        .filter((method) => method !== "parameters")
        .map((method) => [method, path]),
    );
    for (const operation of described) expect(OPERATIONS).toContainEqual(operation);
  });

  test("an OpenAPI reader finds each $ref", async () => {
    const { json } = await live.open<Record<string, unknown>>("GET", "/openapi.json");
    const refs: string[] = [];
    JSON.stringify(json, (name, value) => {
      if (name === "$ref" && typeof value === "string") refs.push(value);
      return value;
    });
    for (const ref of refs) {
      expect(ref).toMatch(/^#\//);
      let at: unknown = json;
      for (const part of ref.slice(2).split("/")) {
        at = (at as Record<string, unknown> | undefined)?.[part.replaceAll("~1", "/").replaceAll("~0", "~")];
      }
      expect(at, ref).toBeDefined();
    }
  });
});

describe("requests that no call answers", () => {
  test.each([
    ["GET", "/"],
    ["GET", "/v1"],
    ["GET", "/v2/tenants/demo/topics"],
    ["GET", "/healthz/more"],
    ["POST", "/healthz"],
  ])("%s %s is not found", async (method, path) => {
    expectProblem(await live.open(method, path), "not-found");
  });

  test("nor below a tenant, with a token", async () => {
    const api = live.api("demo");
    expectProblem(await api.request("GET", "nothing"), "not-found");
    expectProblem(await api.request("GET", "topics/t/nothing"), "not-found");
    expectProblem(await api.request("PATCH", "topics/t"), "not-found");
    expectProblem(await api.request("GET", "gc"), "not-found");
    expectProblem(await api.request("GET", "topics/t/groups/g/receive"), "not-found");
  });
});

test("the ready token of the server works for every tenant", async () => {
  for (const tenant of ["demo", "acme", "globex"]) {
    const reply = await live.api(tenant, live.token).request("GET", "topics");
    expect(reply.status, reply.text).toBe(200);
  }
});

test("a token for * works for every tenant", async () => {
  const token = tenantToken(SECRET, "*", "consume");
  for (const tenant of ["demo", "acme"]) {
    expect((await live.api(tenant, token).request("GET", "topics")).status).toBe(200);
  }
});

test("request ids differ", async () => {
  const seen = new Set<string | null>();
  for (let i = 0; i < 20; i++) seen.add((await live.open("GET", "/healthz")).headers.get("x-request-id"));
  expect(seen.size).toBe(20);
});
