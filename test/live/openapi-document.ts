import { Ajv2020, type ValidateFunction } from "ajv/dist/2020.js";
import { expect } from "vitest";
import type { Reply } from "./api.ts";

/** JSON Schema as the document has it. */
export type Schema = { readonly [keyword: string]: unknown };

export interface Parameter {
  name: string;
  in: "path" | "query" | "header";
  required: boolean;
  schema: Schema;
  /** The parameter is percent-encoded text: what it must be once decoded. */
  "x-decoded"?: Schema;
  example?: unknown;
}

interface PrefixedHeaders {
  prefix: string;
  schema: Schema;
}

interface Content {
  schema?: Schema;
  example?: unknown;
}

interface Response {
  description: string;
  headers?: Record<string, { $ref: string }>;
  content?: Record<string, Content>;
}

interface OperationObject {
  operationId: string;
  tags: string[];
  summary: string;
  description: string;
  security: { token: string[] }[];
  parameters: Parameter[];
  "x-prefixed-headers"?: PrefixedHeaders[];
  requestBody?: { required: boolean; content: Record<string, Content> };
  responses: Record<string, Response | { $ref: string; description?: string }>;
}

export interface OpenApi {
  openapi: string;
  info: { title: string; version: string; description: string };
  servers: { url: string }[];
  tags: { name: string }[];
  components: Record<string, Record<string, unknown>>;
  paths: Record<string, Record<string, OperationObject>>;
}

/** One operation with where it stands. */
export interface DocumentedOperation extends OperationObject {
  method: string;
  path: string;
  /** Any of them suffices; none: no token is needed. */
  scopes: string[];
}

const ID = "https://fairlane.invalid/openapi.json";
const PROBLEM = "application/problem+json";

/** The document as a contract: what it says of requests and replies, and nothing that is known from elsewhere. */
export class Contract {
  readonly document: OpenApi;
  readonly operations: ReadonlyMap<string, DocumentedOperation>;
  private readonly ajv: Ajv2020;
  private readonly compiled = new WeakMap<Schema, ValidateFunction>();

  constructor(document: OpenApi) {
    this.document = document;
    this.ajv = new Ajv2020({ strict: true, allowUnionTypes: true });
    // The document around the schemas: so that they are found at their places, and their references resolve.
    this.ajv.addVocabulary(Object.keys(document));
    this.ajv.addSchema({ $id: ID, ...document });
    const operations = new Map<string, DocumentedOperation>();
    for (const [path, item] of Object.entries(document.paths)) {
      for (const [method, operation] of Object.entries(item)) {
        const scopes = operation.security.flatMap(({ token }) => token);
        operations.set(operation.operationId, { ...operation, method: method.toUpperCase(), path, scopes });
      }
    }
    this.operations = operations;
  }

  operation(id: string): DocumentedOperation {
    return this.operations.get(id) ?? expect.fail(`the document has no operation ${id}`);
  }

  /** What a reference stands for, or the thing itself. */
  resolved<T>(value: T | { $ref: string }): T {
    const ref = (value as { $ref?: string }).$ref;
    if (ref === undefined) return value as T;
    let at: unknown = this.document;
    for (const part of ref.replace(/^#\//, "").split("/"))
      at = (at as Record<string, unknown> | undefined)?.[part];
    return at === undefined ? expect.fail(`nothing is at ${ref}`) : (at as T);
  }

  /** null, or what is wrong with the value. */
  problemOf(schema: Schema, value: unknown): string | null {
    let validate = this.compiled.get(schema);
    if (validate === undefined) {
      validate = this.ajv.compile(this.absolute(schema));
      this.compiled.set(schema, validate);
    }
    return validate(value) ? null : this.ajv.errorsText(validate.errors);
  }

  isValid(schema: Schema, value: unknown): boolean {
    return this.problemOf(schema, value) === null;
  }

  /** The JSON body that a request has, or null where it has none. */
  jsonBody(operation: DocumentedOperation): { required: boolean; schema: Schema } | null {
    const schema = operation.requestBody?.content["application/json"]?.schema;
    return schema === undefined ? null : { required: operation.requestBody?.required === true, schema };
  }

  /** Asserts that the document allows this reply, in every part that it speaks of. */
  checkReply(operation: DocumentedOperation, reply: Reply<unknown>): void {
    const shown = `${operation.operationId} ${reply.status}: ${reply.text.slice(0, 600)}`;
    const listed = operation.responses[reply.status] ?? expect.fail(`a status that is not listed: ${shown}`);
    const response = this.resolved<Response>(listed);
    this.checkHeaders(response, reply, shown);
    const contents = Object.entries(response.content ?? {});
    if (contents.length === 0) {
      expect(reply.text, shown).toBe("");
      expect(reply.headers.get("content-type"), shown).toBeNull();
      return;
    }
    const mediaType = reply.headers.get("content-type")?.split(";")[0];
    const [, content] = contents.find(([type]) => type === mediaType) ?? [];
    const schema = content?.schema ?? expect.fail(`content of type ${mediaType} is not listed: ${shown}`);
    expect(this.problemOf(schema, reply.json), shown).toBeNull();
    expect(mediaType === PROBLEM, shown).toBe(reply.status >= 400);
  }

  private checkHeaders(response: Response, reply: Reply<unknown>, shown: string): void {
    expect(Object.keys(response.headers ?? {}), shown).toContain("x-request-id");
    for (const [name, listed] of Object.entries(response.headers ?? {})) {
      const { required, schema } = this.resolved<{ required?: boolean; schema: Schema }>(listed);
      const text = reply.headers.get(name);
      if (text === null) {
        expect(required, `${name} of ${shown}`).not.toBe(true);
        continue;
      }
      const value = schema.type === "integer" ? Number(text) : text;
      expect(this.problemOf(schema, value), `${name} of ${shown}`).toBeNull();
    }
  }

  /** References by the document's own address, for a schema that is compiled apart from it. */
  private absolute(schema: Schema): Schema {
    return JSON.parse(JSON.stringify(schema), (name, value) =>
      name === "$ref" && typeof value === "string" ? value.replace(/^#/, `${ID}#`) : value,
    ) as Schema;
  }
}
