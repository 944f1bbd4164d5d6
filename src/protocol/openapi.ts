import { z } from "zod";
import type { Operation, ReplySpec } from "./operation.ts";
import { operationList, pathParams } from "./operations.ts";
import { PROBLEM_CONTENT_TYPE, PROBLEMS, problem } from "./problem.ts";

type Json = Record<string, unknown>;

/** The OpenAPI 3.1 document of the API, from the schemas that validate its requests. */
export function openApiDocument(version: string): Json {
  const paths: Record<string, Json> = {};
  for (const [id, operation] of operationList()) {
    let item = paths[operation.path];
    if (item === undefined) {
      item = {};
      paths[operation.path] = item;
    }
    item[operation.method.toLowerCase()] = operationObject(id, operation);
  }
  return {
    openapi: "3.1.0",
    info: {
      title: "Fairlane",
      version,
      description: "A message queue for software that serves many tenants",
    },
    components: {
      schemas: { Problem: jsonSchema(problem, "output") },
      responses: errorResponses(),
      securitySchemes: { token: { type: "http", scheme: "bearer", bearerFormat: "JWT" } },
    },
    paths,
  };
}

function operationObject(id: string, operation: Operation): Json {
  const content = requestContent(operation);
  return {
    operationId: id,
    summary: operation.summary,
    ...(operation.description === undefined ? {} : { description: operation.description }),
    // The scope is a claim of the token, which OpenAPI can only note for a scheme of this kind.
    security: operation.scopes.map((scope) => ({ token: [scope] })),
    parameters: parameters(operation),
    ...(content === null ? {} : { requestBody: content }),
    responses: responses(operation),
  };
}

function parameters(operation: Operation): Json[] {
  const list: Json[] = [];
  for (const [, name = ""] of operation.path.matchAll(/\{(\w+)\}/g)) {
    const schema = pathParams[name];
    if (schema === undefined) throw new Error(`no schema for the path parameter ${name}`);
    list.push({ name, in: "path", required: true, schema: jsonSchema(schema, "input") });
  }
  const query = jsonSchema(operation.query, "input") as { properties?: Json; required?: string[] };
  for (const [name, schema] of Object.entries(query.properties ?? {})) {
    list.push({ name, in: "query", required: query.required?.includes(name) ?? false, schema });
  }
  for (const { name, description, schema } of operation.headers ?? []) {
    list.push({ name, in: "header", required: false, description, schema });
  }
  return list;
}

function requestContent(operation: Operation): Json | null {
  const { body } = operation;
  switch (body.kind) {
    case "none":
      return null;
    case "bytes":
      return { required: false, content: { "*/*": {} } };
    case "publish":
      return {
        required: true,
        content: { "application/json": { schema: jsonSchema(body.schema, "input") } },
      };
    case "json":
      return {
        required: body.optional !== true,
        content: { "application/json": { schema: jsonSchema(body.schema, "input") } },
      };
  }
}

function responses(operation: Operation): Json {
  const byStatus: Json = {};
  for (const [status, reply] of Object.entries(operation.replies)) byStatus[status] = response(reply);
  const isOpen = operation.scopes.length === 0;
  for (const status of isOpen ? [500] : errorStatuses()) {
    byStatus[status] = { $ref: `#/components/responses/${status}` };
  }
  return byStatus;
}

function response(reply: ReplySpec): Json {
  if (reply.schema === undefined) return { description: reply.description, headers: requestIdHeader };
  return {
    description: reply.description,
    headers: requestIdHeader,
    content: { "application/json": { schema: jsonSchema(reply.schema, "output") } },
  };
}

const requestIdHeader = {
  "x-request-id": { description: "Names the request in logs", schema: { type: "string" } },
};
const retryAfterHeader = {
  "retry-after": { description: "Seconds", schema: { type: "integer", minimum: 1 } },
};
/** The statuses that come with `Retry-After`. */
const RETRY_LATER = new Set([429, 503]);

function errorStatuses(): number[] {
  return [...new Set(Object.values(PROBLEMS).map(({ status }) => status))].sort((a, b) => a - b);
}

function errorResponses(): Json {
  const byStatus: Json = {};
  for (const status of errorStatuses()) {
    const codes = Object.entries(PROBLEMS).filter(([, entry]) => entry.status === status);
    byStatus[status] = {
      description: codes.map(([code, { title }]) => `${code}: ${title}`).join("; "),
      headers: { ...requestIdHeader, ...(RETRY_LATER.has(status) ? retryAfterHeader : {}) },
      content: { [PROBLEM_CONTENT_TYPE]: { schema: { $ref: "#/components/schemas/Problem" } } },
    };
  }
  return byStatus;
}

/** JSON Schema as OpenAPI 3.1 takes it in: its dialect is the same, named once by the document. */
function jsonSchema(schema: z.ZodType, io: "input" | "output"): Json {
  const { $schema: _, ...plain } = z.toJSONSchema(schema, {
    target: "draft-2020-12",
    io,
    unrepresentable: "any",
    override: ({ jsonSchema: made }) => {
      // A value that is text in a query stands for another type: the schema says so under `override`.
      const { override, ...rest } = made as Json;
      if (override === undefined) return;
      for (const key of Object.keys(made)) delete (made as Json)[key];
      Object.assign(made, rest, override);
    },
  });
  return plain;
}
