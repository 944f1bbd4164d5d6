import { sign } from "hono/jwt";
import type { MessageLog } from "../../../src/log/message-log.ts";
import type { Outcome, TenantCalls } from "../../../src/protocol/tenant-calls.ts";
import { makeApp } from "../../../src/workers/app.ts";
import { outsideLogServices, servicesOf } from "../../../src/workers/compose.ts";
import type { Env } from "../../../src/workers/env.ts";

export const SECRET = "a-secret-of-the-tests";
const ALL_SCOPES = "publish consume admin";

export interface TenantCall {
  tenant: string;
  name: keyof TenantCalls;
  // biome-ignore lint/suspicious/noExplicitAny: each call has another input, and each test knows which
  input: any;
}

export type Answer = (call: TenantCall) => Promise<Outcome<unknown>> | Outcome<unknown>;

/**
 * The edge with a tenant binding that answers what the test says: the place where the platform would carry
 * a call to an object. With `logOf`, the tenants' logs are outside their objects.
 */
export function makeEdge(
  answer: Answer,
  variables: Partial<Env> = {},
  logOf: ((tenant: string) => MessageLog) | null = null,
) {
  const calls: TenantCall[] = [];
  const waits: Promise<unknown>[] = [];
  const stub = (tenant: string) =>
    new Proxy(
      {},
      {
        get: (_, name) => async (claimed: string, input: unknown) => {
          if (claimed !== tenant) throw new Error("a call for another tenant than its object's");
          const call = { tenant, name: name as keyof TenantCalls, input };
          calls.push(call);
          return answer(call);
        },
      },
    );
  const env = { AUTH_SECRET: SECRET, MQ_TENANTS: "demo,acme", TENANT: { getByName: stub }, ...variables };
  const app = makeApp((bindings) => {
    const outcome = servicesOf(bindings);
    if (!outcome.ok || logOf === null) return outcome;
    const { services } = outcome;
    return { ok: true, services: { ...services, ...outsideLogServices(logOf, services.tenants) } };
  });
  const context = { waitUntil: (work: Promise<unknown>) => void waits.push(work) } as ExecutionContext;

  async function send(
    method: string,
    path: string,
    init: RequestInit & { scope?: string; tenant?: string } = {},
  ) {
    const { scope = ALL_SCOPES, tenant = "demo", ...rest } = init;
    const token = await sign({ tenant, scope, exp: Math.floor(Date.now() / 1000) + 60 }, SECRET, "HS256");
    const request = new Request(`http://edge${path}`, {
      ...rest,
      method,
      headers: { authorization: `Bearer ${token}`, ...(rest.headers as Record<string, string>) },
    });
    return app.fetch(request, env, context);
  }

  /** Below the tenant `demo`, with a JSON body where one is given. */
  const demo = (method: string, path: string, json?: unknown, init: RequestInit = {}) =>
    send(
      method,
      `/v1/tenants/demo/${path}`,
      json === undefined ? init : { body: JSON.stringify(json), ...init },
    );

  return { send, demo, calls, settled: () => Promise.all(waits) };
}

export const ok = (value: unknown): Outcome<unknown> => ({ ok: true, value });
