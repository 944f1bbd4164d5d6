import { describe, expect, test } from "vitest";
import { openApiDocument } from "../../../src/protocol/openapi.ts";
import { PROBLEMS } from "../../../src/protocol/problem.ts";
import { Contract, type OpenApi, type Parameter } from "../../live/openapi-document.ts";

const document = openApiDocument("1.2.3") as unknown as OpenApi;
const contract = new Contract(document);
const operations = [...contract.operations.values()];

function refsOf(value: unknown): string[] {
  const refs: string[] = [];
  JSON.stringify(value, (name, inner) => {
    if (name === "$ref" && typeof inner === "string") refs.push(inner);
    return inner;
  });
  return refs;
}

describe("the document", () => {
  test("is OpenAPI 3.1 with what every reader asks for", () => {
    expect(document.openapi).toMatch(/^3\.1\.\d+$/);
    expect(document.info).toMatchObject({ title: expect.stringMatching(/\S/), version: "1.2.3" });
    expect(document.servers).toEqual([expect.objectContaining({ url: "/" })]);
    const allowed = ["openapi", "info", "servers", "tags", "components", "paths"];
    expect(Object.keys(document).filter((name) => !allowed.includes(name))).toEqual([]);
    const parts = ["schemas", "headers", "responses", "securitySchemes"];
    expect(Object.keys(document.components).sort()).toEqual([...parts].sort());
    for (const names of Object.values(document.components)) {
      for (const name of Object.keys(names)) expect(name).toMatch(/^[a-zA-Z0-9.\-_]+$/);
    }
  });

  test("is plain JSON", () => {
    expect(JSON.parse(JSON.stringify(document))).toEqual(document);
  });

  test("has operation IDs that are unique, and names for code", () => {
    const ids = Object.values(document.paths).flatMap((item) =>
      Object.values(item).map((it) => it.operationId),
    );
    expect(new Set(ids).size).toBe(ids.length);
    for (const id of ids) expect(id).toMatch(/^[a-z][A-Za-z]*$/);
  });

  test("resolves each reference, and has no part that nothing refers to", () => {
    const refs = new Set(refsOf(document));
    for (const ref of refs) {
      expect(ref).toMatch(/^#\/components\//);
      expect(contract.resolved({ $ref: ref })).toBeTypeOf("object");
    }
    const { securitySchemes: _, ...referred } = document.components;
    const parts = Object.entries(referred).flatMap(([kind, names]) =>
      Object.keys(names).map((name) => `#/components/${kind}/${name}`),
    );
    expect(parts.filter((part) => !refs.has(part))).toEqual([]);
  });

  test("has paths whose templates differ, without a query or an end slash", () => {
    const shapes = Object.keys(document.paths).map((path) => path.replaceAll(/\{\w+\}/g, "{}"));
    expect(new Set(shapes).size).toBe(shapes.length);
    for (const path of shapes) expect(path).toMatch(/^(\/[\w.{}-]+)+$/);
  });

  test("uses each of its tags, and no other", () => {
    const tags = document.tags.map(({ name }) => name);
    expect(new Set(operations.flatMap((operation) => operation.tags))).toEqual(new Set(tags));
  });
});

describe.each(operations.map((operation) => [operation.operationId, operation] as const))(
  "%s",
  (_, operation) => {
    const names = (place: Parameter["in"]) =>
      operation.parameters.filter((parameter) => parameter.in === place).map(({ name }) => name);

    test("says what it does", () => {
      expect(operation.summary).toMatch(/^\S.*[^.\s]$/);
      expect(operation.description).toMatch(/^\S[\s\S]*\.$/);
      expect(operation.tags).toHaveLength(1);
    });

    test("declares the parameters of its path, and each parameter once", () => {
      const inPath = [...operation.path.matchAll(/\{(\w+)\}/g)].map(([, name]) => name);
      expect(names("path")).toEqual(inPath);
      const all = operation.parameters.map((parameter) => `${parameter.in} ${parameter.name.toLowerCase()}`);
      expect(new Set(all).size).toBe(all.length);
      for (const parameter of operation.parameters) {
        if (parameter.in === "path") expect(parameter.required).toBe(true);
        // OpenAPI ignores these three as parameters.
        if (parameter.in === "header")
          expect(["accept", "content-type", "authorization"]).not.toContain(parameter.name);
        if (parameter.in === "header") expect(parameter.name).toMatch(/^[a-z0-9-]+$/);
      }
    });

    test("asks for a scope that there is, unless it is open", () => {
      const scopes = ["publish", "consume", "admin"];
      for (const scope of operation.scopes) expect(scopes).toContain(scope);
      expect(operation.scopes.length > 0).toBe(operation.path.startsWith("/v1/"));
    });

    test("has one success, and errors of which each is a problem", () => {
      const statuses = Object.keys(operation.responses).map(Number);
      expect(statuses.filter((status) => status < 300)).toHaveLength(1);
      const errors = statuses.filter((status) => status >= 400);
      const open = operation.scopes.length === 0;
      expect(errors).toEqual(
        expect.arrayContaining(open ? [400, 413, 500] : [400, 401, 403, 404, 413, 429, 500, 503]),
      );
      for (const status of errors) {
        const codes = Object.entries(PROBLEMS).filter(([, entry]) => entry.status === status);
        const content = responseOf(status).content?.["application/problem+json"];
        for (const [code, { title }] of codes) {
          const issues = status === 400 ? { issues: [{ path: "topic", message: "must not be empty" }] } : {};
          const problem = { type: `urn:fairlane:${code}`, title, status, detail: "what", ...issues };
          expect(contract.problemOf(content?.schema ?? {}, problem)).toBeNull();
          const other = { ...problem, type: "urn:fairlane:other" };
          expect(contract.isValid(content?.schema ?? {}, other)).toBe(false);
          expect(contract.isValid(content?.schema ?? {}, { ...problem, status: 418 })).toBe(false);
          if (status === 400)
            expect(contract.isValid(content?.schema ?? {}, { ...problem, issues: [] })).toBe(false);
        }
        const later = [429, 503].includes(status);
        expect(Object.keys(responseOf(status).headers ?? {}).includes("retry-after")).toBe(later);
      }
    });

    test("has the request ID on every reply, and no content with 204", () => {
      for (const status of Object.keys(operation.responses)) {
        const response = responseOf(Number(status));
        expect(Object.keys(response.headers ?? {})).toContain("x-request-id");
        expect(response.description).toMatch(/\S/);
        expect(response.content === undefined).toBe(status === "204");
      }
    });

    test("has an example that its own schemas take", () => {
      for (const { name, required, schema, example, "x-decoded": decoded } of operation.parameters) {
        if (example === undefined) expect(required, name).toBe(false);
        else expect(contract.problemOf(schema, example), name).toBeNull();
        if (example !== undefined && decoded !== undefined) {
          expect(contract.problemOf(decoded, decodeURIComponent(String(example))), name).toBeNull();
        }
      }
      for (const content of Object.values(operation.requestBody?.content ?? {})) {
        expect(content.example).toBeDefined();
        if (content.schema !== undefined)
          expect(contract.problemOf(content.schema, content.example)).toBeNull();
      }
      for (const [status, listed] of Object.entries(operation.responses)) {
        const { content = {} } = contract.resolved<ReturnType<typeof responseOf>>(listed);
        if (Number(status) >= 400) continue;
        for (const { schema = {}, example } of Object.values(content)) {
          expect(example).toBeDefined();
          expect(contract.problemOf(schema, example)).toBeNull();
        }
      }
    });

    function responseOf(status: number) {
      const listed = operation.responses[status] ?? expect.fail(`no ${status}`);
      return contract.resolved<Exclude<typeof listed, { $ref: string }>>(listed);
    }
  },
);
