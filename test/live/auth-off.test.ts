import { afterAll, beforeAll, expect, test } from "vitest";
import { type Live, numbered, setup } from "./harness.ts";
import { expectProblem } from "./problem.ts";

let live: Live;
beforeAll(async () => {
  live = await setup({ authOff: true });
});
afterAll(() => live?.close());

test("AUTH=off on a loopback server: every call works without a token, unknown tenants stay unknown", async () => {
  const api = live.api("demo", null);
  await api.publish("t", numbered(1, "k"));
  await api.ack("t", "g", await api.receiveCount("t", "g", 1));
  expect((await api.request("POST", "gc")).status).toBe(200);
  expectProblem(await live.api("nobody", null).request("GET", "topics"), "unknown-tenant");
});

test("AUTH=off: a token that is sent anyway does no harm, good or bad", async () => {
  for (const token of ["garbage", live.token]) {
    expect((await live.api("demo", token).request("GET", "topics")).status).toBe(200);
  }
});
