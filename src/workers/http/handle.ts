import { type Failure, fail } from "../../core/failure.ts";
import { MAX_REQUEST_BYTES } from "../../core/limits.ts";
import type { BodySpec, Operation } from "../../protocol/operation.ts";
import type { Services, ServicesOutcome } from "../compose.ts";
import { logLine } from "../log-line.ts";
import { checkGrant } from "./auth.ts";
import type { AnyRoute } from "./call.ts";
import { failureOf, problemResponse } from "./problem-response.ts";
import { readBody } from "./read-body.ts";
import { requestIdOf } from "./request-id.ts";
import { checkParams, readJson, readQuery } from "./validate.ts";

/** What a request comes with. */
export interface Arrival {
  request: Request;
  services: ServicesOutcome;
  context: Pick<ExecutionContext, "waitUntil">;
  /** Percent-decoded. */
  params: Record<string, string>;
}

/** How much of a refused request is read away, so that its sender gets to see the answer. */
const MAX_DISCARDED_BYTES = 4 * MAX_REQUEST_BYTES;

/**
 * One request from arrival to reply: configuration, token, tenant, then the names, query and body, then
 * the route. Whatever is thrown becomes a problem; a reply is either whole or not begun.
 */
export async function handle(operation: Operation, route: AnyRoute, arrival: Arrival): Promise<Response> {
  const { request } = arrival;
  const requestId = requestIdOf(request.headers);
  try {
    const services = readyServices(arrival.services, requestId);
    const response = await carryOut(operation, route, arrival, services, requestId);
    response.headers.set("x-request-id", requestId);
    return response;
  } catch (error) {
    const failure = failureOf(error, requestId);
    await discardBody(request, failure);
    return problemResponse(failure, requestId);
  }
}

/** A Worker that is not configured answers nothing at all; the log says why. */
export function readyServices(outcome: ServicesOutcome, requestId: string): Services {
  if (outcome.ok) return outcome.services;
  logLine("error", "configuration-invalid", { requestId, reason: outcome.reason });
  fail("internal", "the Worker is not configured");
}

async function carryOut(
  operation: Operation,
  route: AnyRoute,
  { request, params, context }: Arrival,
  services: Services,
  requestId: string,
): Promise<Response> {
  const nowMs = Date.now();
  const tenant = params.tenant ?? "";
  if (operation.scopes.length > 0) {
    await authorise(operation, request, services, tenant, nowMs);
    if (!services.config.tenants.has(tenant)) fail("unknown-tenant", "this tenant is not configured");
  }
  checkParams(params);
  const query = readQuery(operation.query, searchOf(request.url));
  const body = await bodyOf(operation.body, request);
  return route({
    tenant,
    params,
    query,
    body: body as never,
    request,
    requestId,
    services,
    nowMs,
    waitUntil: (work) => context.waitUntil(work),
  });
}

async function authorise(
  operation: Operation,
  request: Request,
  { verifier }: Services,
  tenant: string,
  nowMs: number,
): Promise<void> {
  if (verifier === null) return;
  checkGrant(await verifier.grantOf(request.headers.get("authorization"), nowMs), tenant, operation.scopes);
}

/** Publish routes read their bodies themselves, after what can be refused without reading. */
async function bodyOf(spec: BodySpec, request: Request): Promise<unknown> {
  if (spec.kind === "json") return readJson(spec, await readBody(request));
  if (spec.kind === "none" && request.body !== null) return readJson(spec, await readBody(request));
  return null;
}

function searchOf(url: string): string {
  const start = url.indexOf("?");
  if (start < 0) return "";
  const end = url.indexOf("#", start);
  return end < 0 ? url.slice(start + 1) : url.slice(start + 1, end);
}

/**
 * A server that answers and closes while the client still sends makes the client see a broken connection
 * in place of the answer. Not for those who may not call at all: they can make nobody read.
 */
async function discardBody(request: Request, failure: Failure): Promise<void> {
  if (failure.code === "unauthorized" || failure.code === "forbidden" || request.body === null) return;
  if (request.body.locked) return;
  const reader = request.body.getReader();
  try {
    for (let size = 0; size < MAX_DISCARDED_BYTES; ) {
      const { done, value } = await reader.read();
      if (done) return;
      size += value.byteLength;
    }
    await reader.cancel();
  } catch {
    // The sender went away by itself: there is nobody left to answer.
  }
}
