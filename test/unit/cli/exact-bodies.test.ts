import { expect, test } from "vitest";
import { ExactBodies } from "../../../src/cli/exact-bodies.ts";

const URL_OF = "http://h/v1/tenants/t/topics/x";

async function read(path: string, reply: string | null, status = 200) {
  const bodies = new ExactBodies(
    async () => new Response(reply, { status, headers: { "x-request-id": "r" } }),
  );
  const response = await bodies.fetch(URL_OF + path, {});
  return { bodies, response };
}

test("keeps each JSON body of a receive as it stands, and passes the reply on", async () => {
  const reply =
    '{"deliveries":[{"receipt":"r1","topic":"x","offset":1,"body":{"a": 1.0, "a":2}},' +
    '{"receipt":"r2","topic":"x","offset":2,"bodyBase64":"AA=="},' +
    '{"receipt":"r3","topic":"x","offset":3,"body":9007199254740993}],"partitions":[],"partitionsHeld":0}';
  const { bodies, response } = await read("/groups/g/receive", reply);
  expect(await response.text()).toBe(reply);
  expect(response.headers.get("x-request-id")).toBe("r");
  expect([1, 2, 3, 4].map((offset) => bodies.take("x", offset))).toEqual([
    '{"a": 1.0, "a":2}',
    null,
    "9007199254740993",
    null,
  ]);
  expect(bodies.take("x", 1), "it is forgotten once taken").toBeNull();
});

test("keeps the body of one message", async () => {
  const { bodies } = await read(
    "/message?id=a&partitionKey=b",
    '{"id":"a","topic":"x","offset":7,"body":[1.0]}',
  );
  expect(bodies.take("y", 7)).toBeNull();
  expect(bodies.take("x", 7)).toBe("[1.0]");
});

test("leaves everything else alone", async () => {
  const { response, bodies } = await read("/messages", '{"messages":[{"topic":"x","offset":7,"body":1}]}');
  expect(response.status).toBe(200);
  expect(bodies.take("x", 7)).toBeNull();
  const failed = await read("/groups/g/receive", '{"deliveries":[{"topic":"x","offset":1,"body":1}]}', 503);
  expect(failed.bodies.take("x", 1)).toBeNull();
  const deleted = await read("/message?id=a&partitionKey=b", null, 204);
  expect(deleted.response.status).toBe(204);
  for (const reply of ["", "not JSON", '{"deliveries":5}', '{"deliveries":[', "[]"]) {
    const odd = await read("/groups/g/receive", reply);
    expect(await odd.response.text()).toBe(reply);
  }
});
