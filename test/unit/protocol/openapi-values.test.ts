import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { openApiDocument } from "../../../src/protocol/openapi.ts";
import { Contract, type OpenApi, type Schema } from "../../live/openapi-document.ts";
import { faultsOf } from "../../live/openapi-faults.ts";
import { valuesOf } from "../../live/openapi-values.ts";

const contract = new Contract(openApiDocument("1.2.3") as unknown as OpenApi);
const schemas = [...contract.operations.values()].flatMap((operation): [string, Schema][] => {
  const body = contract.jsonBody(operation);
  const parameters = operation.parameters.map(({ name, schema }): [string, Schema] => [
    `${operation.operationId} ${name}`,
    schema,
  ]);
  return body === null ? parameters : [...parameters, [`${operation.operationId} body`, body.schema]];
});

test.each(schemas)("values of %s are valid by its schema", (_, schema) => {
  for (const full of [false, true]) {
    for (const value of fc.sample(valuesOf(contract, schema, full), { numRuns: 60, seed: 7 })) {
      expect(contract.problemOf(schema, JSON.parse(JSON.stringify(value)))).toBeNull();
    }
  }
});

describe("what is not understood fails", () => {
  test.each<Schema>([
    { type: "string", format: "uuid" },
    { type: "integer", minimum: 0, maximum: 9, multipleOf: 2 },
    { type: "object", properties: {}, additionalProperties: false, patternProperties: {} },
    { allOf: [{ type: "string" }] },
    { type: "null" },
    { type: "integer", minimum: 0 },
    { type: "array", items: { type: "boolean" } },
    { type: "object", properties: {} },
    { type: "string", pattern: "^never@made$" },
    { oneOf: [{ type: "boolean", readOnly: true }] },
  ])("%j", (schema) => {
    expect(() => valuesOf(contract, schema)).toThrow();
  });
});

test("a schema that only leads to itself again has no value", () => {
  const loop = { anyOf: [{ $ref: "#/components/schemas/Loop" }] };
  const components = { schemas: { Loop: loop } };
  const looping = new Contract({ openapi: "3.1.0", paths: {}, components } as unknown as OpenApi);
  expect(() => valuesOf(looping, loop)).toThrow("no value comes to an end");
});

test("a schema's faults are each of its rules, broken one at a time", () => {
  const schema: Schema = {
    type: "object",
    properties: {
      name: { type: "string", minLength: 1, maxLength: 3 },
      sizes: { type: "array", items: { type: "integer", minimum: 1, maximum: 9 }, minItems: 1, maxItems: 2 },
    },
    required: ["name"],
    additionalProperties: false,
  };
  const faults = faultsOf(contract, schema);
  const found = faults.map(({ what, path }) => `${path}: ${what}`);
  expect(found).toEqual(
    expect.arrayContaining([
      ": [] in its place",
      "name: without name",
      "unknownField: with unknownField",
      "__proto__: with __proto__",
      "name: null in its place",
      'name: the text ""',
      'name: the text "no-such-word"',
      "sizes: too few items",
      "sizes: too many items",
      "sizes[1]: below its minimum",
      "sizes[1]: above its maximum",
      "sizes[1]: 1.5 in its place",
    ]),
  );
  expect(found).not.toContain("sizes: without sizes");
  for (const { value } of faults) expect(contract.isValid(schema, value)).toBe(false);
});
