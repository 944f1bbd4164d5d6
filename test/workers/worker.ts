/// <reference types="@cloudflare/vitest-plugin/types" />
import { env as bindings, exports } from "cloudflare:workers";
import { sign } from "hono/jwt";
import type { Env } from "../../src/workers/env.ts";

/** The Worker as the platform runs it, with real objects behind it. */
export const env = bindings as unknown as Env;

const worker = (exports as unknown as { default: Fetcher }).default;

export async function send(
  method: string,
  path: string,
  init: { body?: BodyInit; headers?: Record<string, string>; scope?: string; tenant?: string } = {},
): Promise<Response> {
  const { body, headers, scope = "publish consume admin", tenant = "demo" } = init;
  const exp = Math.floor(Date.now() / 1000) + 600;
  const token = await sign({ tenant, scope, exp }, env.AUTH_SECRET ?? "", "HS256");
  return worker.fetch(`https://fairlane.test${path}`, {
    method,
    headers: { authorization: `Bearer ${token}`, ...headers },
    ...(body === undefined ? {} : { body }),
  });
}

/** Below the tenant `demo`. */
export function demo(method: string, path: string, body?: BodyInit, headers: Record<string, string> = {}) {
  return send(method, `/v1/tenants/demo/${path}`, { headers, ...(body === undefined ? {} : { body }) });
}
