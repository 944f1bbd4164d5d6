import { MAX_REQUEST_BYTES } from "../core/limits.ts";
import { type Json, SchemaCollection } from "./json-schema.ts";
import type { Operation, ReplySpec } from "./operation.ts";
import { type OperationId, operationList, pathParams } from "./operations.ts";
import { PROBLEM_CONTENT_TYPE, PROBLEMS, problem, problemType } from "./problem.ts";
import { type ReferenceEntry, TAGS } from "./reference/entry.ts";
import { reference } from "./reference/reference.ts";

const DESCRIPTION = `A message queue for software that serves many tenants.

Times are milliseconds since the epoch, durations milliseconds, both integers. Bodies are JSON in UTF-8 without a byte
order mark, whatever the content type of the request says, but for the raw publish; a request has at most
${MAX_REQUEST_BYTES} bytes, and no content coding. A field or query parameter that is not known is refused, and so is a
parameter that stands twice. A call without a request body takes an empty one, or \`{}\`.

Each reply carries \`x-request-id\`. A request may bring its own: 1 to 64 of the characters \`A-Z a-z 0-9 . _ -\`.

Errors are \`application/problem+json\`. Who may call is checked first, then whether there is such a tenant, then names,
query and body. A path that is known, but not with this method, answers 404 and says in \`allow\` what it takes; OPTIONS
answers 204 with the same header, and HEAD is answered wherever GET is.`;

/** The OpenAPI 3.1 document of the API, from the schemas that validate its requests. */
export function openApiDocument(version: string): Json {
  const schemas = new SchemaCollection();
  schemas.of(problem, "output");
  const paths: Record<string, Json> = {};
  for (const [id, operation] of operationList()) {
    let item = paths[operation.path];
    if (item === undefined) {
      item = {};
      paths[operation.path] = item;
    }
    item[operation.method.toLowerCase()] = operationObject(id, operation, schemas);
  }
  return {
    openapi: "3.1.0",
    info: { title: "Fairlane", version, description: DESCRIPTION },
    servers: [{ url: "/", description: "Where this document comes from" }],
    tags: Object.entries(TAGS).map(([name, description]) => ({ name, description })),
    components: {
      schemas: schemas.components,
      headers: HEADERS,
      responses: errorResponses(),
      securitySchemes: {
        token: {
          type: "http",
          scheme: "bearer",
          bearerFormat: "JWT",
          description:
            "HS256, with the claims `tenant` (one tenant, or `*`), `scope` (some of `publish`, `consume` and `admin`, " +
            "with spaces between) and `exp`. A server for local use may be told to want none",
        },
      },
    },
    paths,
  };
}

function operationObject(id: OperationId, operation: Operation, schemas: SchemaCollection): Json {
  const entry = reference[id];
  const content = requestContent(operation, entry, schemas);
  const { prefixedHeaders } = operation;
  return {
    operationId: id,
    tags: [entry.tag],
    summary: operation.summary,
    description: entry.description,
    // The scope is a claim of the token, which OpenAPI can only note for a scheme of this kind.
    security: operation.scopes.map((scope) => ({ token: [scope] })),
    parameters: parameters(operation, entry, schemas),
    ...(prefixedHeaders === undefined ? {} : { "x-prefixed-headers": [prefixedHeaders] }),
    ...(content === null ? {} : { requestBody: content }),
    responses: responses(operation, entry, schemas),
  };
}

function parameters(operation: Operation, { example }: ReferenceEntry, schemas: SchemaCollection): Json[] {
  const list: Json[] = [];
  const add = (place: string, name: string, more: Json, values: Readonly<Record<string, unknown>> = {}) =>
    list.push({ name, in: place, ...more, ...(name in values ? { example: values[name] } : {}) });
  for (const [, name = ""] of operation.path.matchAll(/\{(\w+)\}/g)) {
    const schema = operation.params?.[name] ?? pathParams[name];
    if (schema === undefined) throw new Error(`no schema for the path parameter ${name}`);
    add("path", name, { required: true, schema: schemas.of(schema, "input") }, example.params);
  }
  const query = schemas.of(operation.query, "input") as { properties?: Json; required?: string[] };
  for (const [name, schema] of Object.entries(query.properties ?? {})) {
    add("query", name, { required: query.required?.includes(name) ?? false, schema }, example.query);
  }
  for (const { name, description, schema, decoded } of operation.headers ?? []) {
    const more = decoded === undefined ? {} : { "x-decoded": schemas.of(decoded, "input") };
    add("header", name, { required: false, description, schema, ...more }, example.headers);
  }
  return list;
}

function requestContent(
  operation: Operation,
  { example }: ReferenceEntry,
  schemas: SchemaCollection,
): Json | null {
  const { body } = operation;
  switch (body.kind) {
    case "none":
      return null;
    case "bytes":
      return { required: false, content: { "*/*": { example: example.body } } };
    case "publish":
    case "json": {
      const content = { schema: schemas.of(body.schema, "input"), example: example.body };
      const required = body.kind === "publish" || body.optional !== true;
      return { required, content: { "application/json": content } };
    }
  }
}

const requestIdHeader = { "x-request-id": { $ref: "#/components/headers/RequestId" } };

function responses(operation: Operation, entry: ReferenceEntry, schemas: SchemaCollection): Json {
  const byStatus: Json = {};
  for (const [status, reply] of Object.entries(operation.replies)) {
    byStatus[status] = response(reply, entry, schemas);
  }
  for (const status of errorStatuses(operation, entry)) {
    const description = entry.errors?.[status];
    byStatus[status] = {
      $ref: `#/components/responses/${status}`,
      ...(description === undefined ? {} : { description }),
    };
  }
  return byStatus;
}

function response(reply: ReplySpec, { example }: ReferenceEntry, schemas: SchemaCollection): Json {
  const { description } = reply;
  if (reply.schema === undefined) return { description, headers: requestIdHeader };
  const content = { schema: schemas.of(reply.schema, "output"), example: example.reply };
  return { description, headers: requestIdHeader, content: { "application/json": content } };
}

const HEADERS = {
  RequestId: {
    description: "Names the request in logs",
    required: true,
    schema: { type: "string", minLength: 1 },
  },
  RetryAfter: {
    description: "When to try again, in seconds",
    required: true,
    schema: { type: "integer", minimum: 1 },
  },
  WwwAuthenticate: {
    description: "The scheme that is wanted",
    required: true,
    schema: { type: "string", const: "Bearer" },
  },
};
/** What comes with some of the errors. */
const HEADERS_BY_STATUS: Readonly<Record<number, Json>> = {
  401: { "www-authenticate": { $ref: "#/components/headers/WwwAuthenticate" } },
  429: { "retry-after": { $ref: "#/components/headers/RetryAfter" } },
  503: { "retry-after": { $ref: "#/components/headers/RetryAfter" } },
};
/** Without a tenant there is nothing to look up, and no store. A body that is not wanted is read as well, to refuse it. */
const OPEN_STATUSES = [400, 413, 500];
/** Whoever has a tenant may meet them; any other status stands in the operation's entry. */
const TENANT_STATUSES = [...OPEN_STATUSES, 401, 403, 404, 429, 503];

function errorStatuses(operation: Operation, { errors = {} }: ReferenceEntry): number[] {
  const statuses = operation.scopes.length === 0 ? OPEN_STATUSES : TENANT_STATUSES;
  return [...new Set([...statuses, ...Object.keys(errors).map(Number)])].sort((a, b) => a - b);
}

function errorResponses(): Json {
  const byStatus: Json = {};
  for (const status of new Set(Object.values(PROBLEMS).map((entry) => entry.status))) {
    const codes = Object.entries(PROBLEMS).filter(([, entry]) => entry.status === status);
    byStatus[status] = {
      description: codes.map(([code, { title }]) => `${code}: ${title}`).join("; "),
      headers: { ...requestIdHeader, ...HEADERS_BY_STATUS[status] },
      content: {
        [PROBLEM_CONTENT_TYPE]: {
          schema: problemOf(
            status,
            codes.map(([code]) => code),
          ),
        },
      },
    };
  }
  return byStatus;
}

/** `Problem`, with what is so for one status. What is wrong with a request is always said field by field. */
function problemOf(status: number, codes: readonly string[]): Json {
  return {
    type: "object",
    allOf: [{ $ref: "#/components/schemas/Problem" }],
    properties: {
      type: { type: "string", enum: codes.map(problemType) },
      status: { type: "integer", const: status },
      issues: status === 400 ? { type: "array", minItems: 1 } : { type: "array" },
    },
    required: status === 400 ? ["type", "status", "issues"] : ["type", "status"],
  };
}
