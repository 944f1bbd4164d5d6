import { type Context, Hono } from "hono";
import type { Operation } from "../protocol/operation.ts";
import { operationList } from "../protocol/operations.ts";
import { agentConnection } from "../protocol/split-agent.ts";
import { type ServicesOutcome, servicesOf } from "./compose.ts";
import type { Env } from "./env.ts";
import type { AnyRoute } from "./http/call.ts";
import { handle, readyServices } from "./http/handle.ts";
import { failureOf, problemResponse } from "./http/problem-response.ts";
import { requestIdOf } from "./http/request-id.ts";
import { routes } from "./routes/routes.ts";
import { connectAgent } from "./routes/splits.ts";
import { PAGE_PATHS, servePage } from "./routes/ui.ts";

/** Of the API, and the agent's WebSocket, which is none of its calls. */
const CALLS: [Operation, AnyRoute][] = [
  ...operationList().map(([id, operation]): [Operation, AnyRoute] => [operation, routes[id] as AnyRoute]),
  [agentConnection, connectAgent as AnyRoute],
];

type AppContext = Context<{ Bindings: Env }>;

/**
 * The HTTP side of the Worker: each operation of the API at its path, and the dashboard. `servicesFor` says what its
 * routes work with, by the bindings that a request comes with.
 */
export function makeApp(servicesFor: (env: Env) => ServicesOutcome = servicesOf): Hono<{ Bindings: Env }> {
  const app = new Hono<{ Bindings: Env }>();
  for (const [operation, route] of CALLS) {
    app.on(operation.method, operation.path.replaceAll(/\{(\w+)\}/g, ":$1"), (c) =>
      handle(operation, route, {
        request: c.req.raw,
        services: servicesFor(c.env),
        context: c.executionCtx,
        params: c.req.param(),
      }),
    );
  }
  for (const path of PAGE_PATHS) {
    app.get(path, (c) => {
      const requestId = requestIdOf(c.req.raw.headers);
      readyServices(servicesFor(c.env), requestId);
      return servePage(path, c.req.raw.headers, requestId);
    });
  }
  app.notFound((c) => noSuchCall(c, servicesFor(c.env)));
  app.onError((error, c) => {
    const requestId = requestIdOf(c.req.raw.headers);
    return problemResponse(failureOf(error, requestId), requestId);
  });
  return app;
}

/**
 * The API has no 405: a path that is known under other methods is not found under this one, and says in
 * `Allow` what it takes. OPTIONS asks for just that.
 */
function noSuchCall(c: AppContext, services: ServicesOutcome): Response {
  const requestId = requestIdOf(c.req.raw.headers);
  try {
    readyServices(services, requestId);
  } catch (error) {
    return problemResponse(failureOf(error, requestId), requestId);
  }
  const allow = methodsOf(c.req.path);
  if (allow !== null && c.req.method === "OPTIONS") {
    return new Response(null, { status: 204, headers: { allow, "x-request-id": requestId } });
  }
  const response = problemResponse(
    { code: "not-found", detail: "no call has this method and path" },
    requestId,
  );
  if (allow !== null) response.headers.set("allow", allow);
  return response;
}

/** null: no operation has this path. */
function methodsOf(path: string): string | null {
  const methods = new Set<string>();
  for (const [pattern, method] of PATTERNS) if (pattern.test(path)) methods.add(method);
  if (PAGE_PATHS.includes(path)) methods.add("GET");
  if (methods.size === 0) return null;
  if (methods.has("GET")) methods.add("HEAD");
  return [...methods, "OPTIONS"].sort().join(", ");
}

const PATTERNS = CALLS.map(([{ method, path }]): [RegExp, string] => [
  new RegExp(`^${path.replaceAll(".", "\\.").replaceAll(/\{\w+\}/g, "[^/]+")}$`),
  method,
]);
