import fc from "fast-check";
import { afterAll, beforeAll, expect, test } from "vitest";
import { type Live, setup } from "./harness.ts";
import { Contract, type Parameter } from "./openapi-document.ts";
import { DocumentedCalls, fetchedDocument, type Request, requestsOf } from "./openapi-request.ts";
import { scenes } from "./openapi-scenes.ts";
import { forgetGroups } from "./openapi-stage.ts";

// Whatever the document calls a valid request is carried out, and answered as the document says.

/** The same cases for everyone unless asked otherwise, as in test/property. */
const SEED = Number(process.env.PROPERTY_SEED ?? 20_260_517);
console.log(`PROPERTY_SEED=${SEED}`);
const FACTOR = Number(process.env.PROPERTY_FACTOR ?? 1);
const RUNS = 6 * FACTOR;
/** Ends the search for a smaller failure; without a failure it is never reached. */
const MAX_MS = 40_000 * FACTOR;

let live: Live;
let contract: Contract;
let calls: DocumentedCalls;
beforeAll(async () => {
  live = await setup();
  contract = new Contract((await fetchedDocument(live)).json);
  calls = new DocumentedCalls(live, contract);
});
afterAll(() => live?.close());

test("each operation of the document has its scene", () => {
  expect(Object.keys(scenes).sort()).toEqual([...contract.operations.keys()].sort());
});

const DEAD_LETTERS = "_dlq";

async function carryOut(id: string, given: Request): Promise<void> {
  const operation = contract.operation(id);
  const scene = scenes[id] ?? expect.fail(`no scene for ${id}`);
  // The generator's values are shared between runs while it looks for a smaller failure.
  const request = structuredClone(given);
  const { params } = request;
  if (scene.ordinaryTopic) params.topic = ordinary(params.topic ?? "t");
  await scene.ready?.(calls, request);
  expectValid(request);
  const reply = await calls.send(id, request);
  const success = Object.keys(operation.responses).find((status) => Number(status) < 300);
  expect(
    String(reply.status),
    `${id}: ${reply.text.slice(0, 600)} to ${JSON.stringify(request).slice(0, 2000)}`,
  ).toBe(success);
  scene.meant?.(request, reply);
  await forgetGroups(calls, params);

  /** What a scene changed is valid as well. */
  function expectValid({ query, body }: Request): void {
    const json = contract.jsonBody(operation);
    if (json !== null && body !== undefined) expect(contract.problemOf(json.schema, body)).toBeNull();
    const places: [Parameter["in"], Record<string, unknown>][] = [
      ["query", query],
      ["path", params],
    ];
    for (const [place, values] of places) {
      for (const { name, schema } of operation.parameters.filter((parameter) => parameter.in === place)) {
        if (name in values) expect(contract.problemOf(schema, values[name]), name).toBeNull();
      }
    }
  }
}

function ordinary(topic: string): string {
  let name = topic;
  while (name.endsWith(DEAD_LETTERS)) name = name.slice(0, -DEAD_LETTERS.length);
  return name === "" ? "t" : name;
}

test.each(Object.keys(scenes))("%s", async (id) => {
  const property = fc.asyncProperty(requestsOf(contract, contract.operation(id)), (request) =>
    carryOut(id, request),
  );
  await fc.assert(property, {
    seed: SEED,
    numRuns: Math.min(RUNS, scenes[id]?.maxRuns ?? RUNS),
    interruptAfterTimeLimit: MAX_MS,
    markInterruptAsFailure: true,
  });
});

test.each(Object.keys(scenes))("%s with all that may be in it", async (id) => {
  const [request] = fc.sample(requestsOf(contract, contract.operation(id), true), { seed: SEED, numRuns: 1 });
  await carryOut(id, request ?? expect.fail("one request"));
});

test("the examples are carried out as they stand", async () => {
  for (const operation of contract.operations.values()) {
    const example = (place: Parameter["in"]) =>
      Object.fromEntries(
        operation.parameters
          .filter((parameter) => parameter.in === place && parameter.example !== undefined)
          .map(({ name, example }) => [name, example]),
      );
    const [body] = Object.values(operation.requestBody?.content ?? {});
    const text =
      body?.schema === undefined ? (body?.example as string | undefined) : JSON.stringify(body.example);
    const params = example("path") as Record<string, string>;
    const request = { params, query: example("query"), headers: example("header") };
    const reply = await calls.send(operation.operationId, request, text === undefined ? {} : { text });
    // What an example names need not exist here.
    expect([200, 204, 404], reply.text).toContain(reply.status);
  }
});

test("OPTIONS tells the methods that the document has; any other is not found", async () => {
  for (const [path, item] of Object.entries(contract.document.paths)) {
    const methods = Object.keys(item).map((method) => method.toUpperCase());
    if (methods.includes("GET")) methods.push("HEAD");
    const target = path.replaceAll(/\{\w+\}/g, "demo");
    const allow = [...methods, "OPTIONS"].sort().join(", ");
    const options = await live.open("OPTIONS", target);
    expect([options.status, options.text, options.headers.get("allow")]).toEqual([204, "", allow]);
    for (const method of ["GET", "POST", "PUT", "DELETE", "PATCH"]) {
      if (methods.includes(method)) continue;
      const reply = await live.open(method, target);
      expect([reply.status, reply.headers.get("allow")], `${method} ${path}`).toEqual([404, allow]);
    }
  }
});

test("HEAD has the headers of GET and no body", async () => {
  for (const path of ["/healthz", "/openapi.json"]) {
    const [get, head] = [await live.open("GET", path), await live.open("HEAD", path)];
    expect([head.status, head.text]).toEqual([get.status, ""]);
    expect(head.headers.get("content-type")).toBe(get.headers.get("content-type"));
  }
});
