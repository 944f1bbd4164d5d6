import { request as httpRequest } from "node:http";
import { text as textFrom } from "node:stream/consumers";
import fc from "fast-check";
import { exchange, type Reply } from "./api.ts";
import { type Live, SECRET } from "./harness.ts";
import type { Contract, DocumentedOperation, Parameter, Schema } from "./openapi-document.ts";
import { valuesOf } from "./openapi-values.ts";
import { tenantToken } from "./tokens.ts";

/** What a request says, before it is text. */
export interface Request {
  params: Record<string, string>;
  /** Values as their schemas type them. */
  query: Record<string, unknown>;
  headers: Record<string, unknown>;
  /** A JSON value, or bytes; absent: none is sent. */
  body?: unknown;
}

/** What stands in place of what a request says, to see it refused. */
export interface Twist {
  /** null: no `authorization` at all. */
  token?: string | null;
  /** In place of the query, encoded already. */
  search?: string;
  /** In place of the body. */
  text?: string | Uint8Array;
  headers?: Record<string, string>;
  /** Path parameters that are encoded already. */
  params?: Record<string, string>;
}

export const TENANT = "demo";

/** Requests that the document calls valid. `full`: with everything that may be there. */
export function requestsOf(
  contract: Contract,
  operation: DocumentedOperation,
  full = false,
): fc.Arbitrary<Request> {
  const json = contract.jsonBody(operation);
  const body = json === null ? bytesOf(operation) : valuesOf(contract, json.schema, full);
  const isOptional = json?.required !== true && !full;
  return fc
    .record({
      params: paramsOf(contract, operation),
      query: parametersOf(contract, operation, "query", full),
      headers: headersOf(contract, operation, full),
      body: body === null || isOptional ? fc.option(body ?? fc.constant(null), { nil: undefined }) : body,
    })
    .map(({ body: made, ...request }) =>
      body === null || made === undefined ? request : { ...request, body: made },
    );
}

function bytesOf(operation: DocumentedOperation): fc.Arbitrary<unknown> | null {
  return operation.requestBody === undefined ? null : fc.uint8Array({ maxLength: 200 });
}

/** Few names: a tenant has only so many topics. */
const NAMES = 4;

function paramsOf(contract: Contract, operation: DocumentedOperation): fc.Arbitrary<Record<string, string>> {
  const model = Object.fromEntries(
    operation.parameters
      .filter((parameter) => parameter.in === "path")
      .map(({ name, schema }): [string, fc.Arbitrary<string>] => {
        if (name === "tenant") return [name, fc.constant(TENANT)];
        const values = valuesOf(contract, schema) as fc.Arbitrary<string>;
        return [
          name,
          name === "topic" ? fc.constantFrom(...fc.sample(values, { numRuns: NAMES, seed: 4 })) : values,
        ];
      }),
  );
  return fc.record(model);
}

function parametersOf(
  contract: Contract,
  operation: DocumentedOperation,
  place: Parameter["in"],
  full: boolean,
): fc.Arbitrary<Record<string, unknown>> {
  const parameters = operation.parameters.filter((parameter) => parameter.in === place);
  const model = Object.fromEntries(
    parameters.map((parameter) => [parameter.name, parameterValues(contract, parameter)]),
  );
  const required = parameters.filter((parameter) => parameter.required).map(({ name }) => name);
  return fc.record(model, { requiredKeys: full ? Object.keys(model) : required });
}

function parameterValues(contract: Contract, parameter: Parameter): fc.Arbitrary<unknown> {
  const decoded = parameter["x-decoded"];
  if (decoded === undefined) return valuesOf(contract, parameter.schema);
  return valuesOf(contract, decoded).map((text) => encodeURIComponent(text as string));
}

function headersOf(
  contract: Contract,
  operation: DocumentedOperation,
  full: boolean,
): fc.Arbitrary<Record<string, unknown>> {
  const named = parametersOf(contract, operation, "header", full);
  const [prefixed] = operation["x-prefixed-headers"] ?? [];
  if (prefixed === undefined) return named;
  const names = fc.constantFrom("a", "x-dev", "with.dot", "9").map((name) => prefixed.prefix + name);
  // HTTP does not carry the white space around a value.
  const values = valuesOf(contract, prefixed.schema).map((text) => (text as string).trim());
  return fc
    .tuple(named, fc.dictionary(names, values, { maxKeys: 3 }))
    .map(([some, more]) => ({ ...some, ...more }));
}

/** Sends what the document describes to a server that runs. */
export class DocumentedCalls {
  private readonly live: Live;
  readonly contract: Contract;

  constructor(live: Live, contract: Contract) {
    this.live = live;
    this.contract = contract;
  }

  /** The reply, which the document allows in every part. */
  async send<T = Record<string, unknown>>(
    id: string,
    request: Partial<Request>,
    twist: Twist = {},
  ): Promise<Reply<T>> {
    const operation = this.contract.operation(id);
    const { params = {}, query = {}, headers = {}, body } = request;
    const path = operation.path.replaceAll(/\{(\w+)\}/g, (_, name: string) => {
      return (
        twist.params?.[name] ??
        encodeURIComponent(name === "tenant" ? (params.tenant ?? TENANT) : (params[name] ?? ""))
      );
    });
    const search = twist.search ?? searchOf(query);
    const token = twist.token === undefined ? tokenFor(operation.scopes) : twist.token;
    const text = twist.text ?? textOf(body);
    const allHeaders = {
      ...(text === undefined ? {} : mediaTypeOf(operation)),
      ...textsOf(headers),
      ...twist.headers,
    };
    const reply = await exchange<T>(
      `${this.live.url}${path}${search === "" ? "" : `?${search}`}`,
      operation.method,
      token,
      {
        headers: allHeaders,
        ...(text === undefined ? {} : { text }),
      },
    );
    this.contract.checkReply(operation, reply);
    return reply;
  }
}

let scopesUsed = 0;

/** One scope of those that suffice, each in turn. */
function tokenFor(scopes: readonly string[]): string | null {
  scopesUsed += 1;
  const scope = scopes[scopesUsed % scopes.length];
  return scope === undefined ? null : tenantToken(SECRET, TENANT, scope);
}

function mediaTypeOf(operation: DocumentedOperation): Record<string, string> {
  return {
    "content-type": "*/*" in (operation.requestBody?.content ?? {}) ? "text/plain" : "application/json",
  };
}

export function searchOf(query: Readonly<Record<string, unknown>>): string {
  return Object.entries(query)
    .map(([name, value]) => `${name}=${encodeURIComponent(String(value))}`)
    .join("&");
}

function textOf(body: unknown): string | Uint8Array | undefined {
  return body === undefined || body instanceof Uint8Array
    ? (body as Uint8Array | undefined)
    : JSON.stringify(body);
}

function textsOf(headers: Readonly<Record<string, unknown>>): Record<string, string> {
  return Object.fromEntries(Object.entries(headers).map(([name, value]) => [name, String(value)]));
}

/** By the plain client of the platform: fetch sends no body with a GET. */
export function getWithBody(url: string, token: string | null, body: string): Promise<Reply<unknown>> {
  return new Promise((resolve, reject) => {
    const headers = {
      "content-length": Buffer.byteLength(body),
      ...(token === null ? {} : { authorization: `Bearer ${token}` }),
    };
    const sent = httpRequest(url, { method: "GET", headers }, (response) => {
      textFrom(response).then((text) => {
        const given = new Headers(response.headers as Record<string, string>);
        resolve({ status: response.statusCode ?? 0, headers: given, text, json: JSON.parse(text) });
      }, reject);
    });
    sent.on("error", reject);
    sent.end(body);
  });
}

export function fetchedDocument(live: Live): Promise<Reply<ConstructorParameters<typeof Contract>[0]>> {
  return live.open("GET", "/openapi.json");
}

export type { Schema };
