import type { z } from "zod";

/** One call of the API. From the table of them both the routes and the OpenAPI document are made. */
export type Scope = "publish" | "consume" | "admin";
export type Method = "GET" | "POST" | "PUT" | "DELETE";

export type BodySpec =
  /** Nothing, or an empty JSON object. */
  | { kind: "none" }
  /** `optional`: an empty request body stands for an empty object. */
  | { kind: "json"; schema: z.ZodType; optional?: true }
  /** Documented by the schema, read by `readPublish`. */
  | { kind: "publish"; schema: z.ZodType }
  /** Bytes as they are. */
  | { kind: "bytes" };

export interface ReplySpec {
  description: string;
  /** Absent: no content. */
  schema?: z.ZodType;
}

export interface RequestHeader {
  name: string;
  description: string;
  schema: Record<string, unknown>;
  /** The header carries percent-encoded UTF-8: what the decoded text must be. */
  decoded?: z.ZodType;
}

/** Headers of any name behind a prefix. OpenAPI has no words for them: they are described by an extension. */
export interface PrefixedHeaders {
  prefix: string;
  description: string;
  /** Of one value. */
  schema: Record<string, unknown>;
}

/** Names in braces in a path template. */
export type PathParam<Path extends string> = Path extends `${string}{${infer Name}}${infer Rest}`
  ? Name | PathParam<Rest>
  : never;

export interface Operation<
  Path extends string = string,
  Query extends z.ZodType = z.ZodType,
  Body extends BodySpec = BodySpec,
> {
  method: Method;
  /** A template, `/v1/tenants/{tenant}/…`. */
  path: Path;
  /** Any one of them suffices. None: open to everybody. */
  scopes: readonly Scope[];
  summary: string;
  /** Of names in the path that only some calls take, narrower than `pathParams`. Its route refuses the others. */
  params?: Readonly<Record<string, z.ZodType>>;
  query: Query;
  headers?: readonly RequestHeader[];
  prefixedHeaders?: PrefixedHeaders;
  body: Body;
  /** By status; what is said of each error stands in the reference. */
  replies: Record<number, ReplySpec>;
}

export type QueryOf<O> = O extends Operation<string, infer Query, BodySpec> ? z.output<Query> : never;
export type ParamsOf<O> =
  O extends Operation<infer Path, z.ZodType, BodySpec> ? Record<PathParam<Path>, string> : never;
/** What a route is given: a validated value, or nothing; the publish routes read the request themselves. */
export type BodyOf<O> =
  O extends Operation<string, z.ZodType, infer Body>
    ? Body extends { kind: "json"; schema: infer Schema extends z.ZodType }
      ? z.output<Schema>
      : null
    : never;

/** Keeps what is known of an operation's path and schemas at compile time. */
export function operation<const Path extends string, Query extends z.ZodType, const Body extends BodySpec>(
  definition: Operation<Path, Query, Body>,
): Operation<Path, Query, Body> {
  return definition;
}
