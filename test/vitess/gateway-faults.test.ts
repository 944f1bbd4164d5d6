import { expect, test } from "vitest";
import type { GatewayLimits } from "../../src/gateway/limits.ts";
import { client, gatewayPlace, refusal, until } from "./gateway-place.ts";

const place = gatewayPlace();

async function setup(limits: Partial<GatewayLimits> = {}) {
  const gateway = await place.start({ limits });
  const table = await place.makeTable("tenant VARCHAR(64), v INT");
  return {
    gateway,
    rows: async () => (await place.runSql(`SELECT * FROM ${table}`)).length,
    insert: (tenant: string, fetchWith?: typeof fetch) =>
      client(gateway, fetchWith).execute(`INSERT INTO ${table} VALUES (?, 1)`, [tenant]),
  };
}

test("errorBefore answers with its error, and the statement is not run", async () => {
  const { gateway, insert, rows } = await setup();
  const error = { code: "UNAVAILABLE", message: "target: shop.-.primary: primary is not serving" };
  gateway.faults.add({ kind: "errorBefore", error, times: 1 });
  expect((await refusal(insert("acme"))).body).toEqual(error);
  expect(await rows()).toBe(0);
  await insert("acme");
  expect(await rows()).toBe(1);
});

test("errorBefore with another HTTP status", async () => {
  const { gateway, insert } = await setup();
  gateway.faults.add({ kind: "errorBefore", httpStatus: 503 });
  const error = await refusal(insert("acme"));
  expect(error.status).toBe(503);
  expect(error.body.message).toBe("injected error");
});

test("errorAfter commits, then the reply is lost", async () => {
  const { gateway, insert, rows } = await setup();
  gateway.faults.add({ kind: "errorAfter", times: 1 });
  await expect(insert("acme")).rejects.toThrow(TypeError);
  expect(await rows()).toBe(1);
  expect(gateway.stats).toMatchObject({ statements: 1, busyConnections: 0 });
});

test("errorAfter at a COMMIT leaves a committed transaction", async () => {
  const { gateway, rows } = await setup();
  const table = `t${(await place.runSql("SHOW TABLES")).length}`;
  gateway.faults.add({ kind: "errorAfter", matching: /^COMMIT$/ });
  const lost = client(gateway).transaction(async (tx) => {
    await tx.execute(`INSERT INTO ${table} VALUES ('acme', 1)`);
  });
  await expect(lost).rejects.toThrow(TypeError);
  expect(await rows()).toBe(1);
});

test("refuse resets the connection, and the statement is not run", async () => {
  const { gateway, insert, rows } = await setup();
  gateway.faults.add({ kind: "refuse" });
  await expect(insert("acme")).rejects.toThrow(TypeError);
  expect(await rows()).toBe(0);
  expect(gateway.stats).toMatchObject({ statements: 0, roundTrips: 1 });
});

test("drop never answers, until the client goes", async () => {
  const { gateway, insert, rows } = await setup();
  const placed = gateway.faults.add({ kind: "drop" });
  const deadline = new AbortController();
  const lost = insert("acme", (url, init) => fetch(url, { ...init, signal: deadline.signal }));
  await until("it arrived", () => placed.hits === 1);
  deadline.abort();
  await expect(lost).rejects.toThrow("aborted");
  expect(await rows()).toBe(0);
});

test("drop does not hold up the gateway's end", async () => {
  const { gateway, insert } = await setup({ closeGraceMs: 3_600_000 });
  const placed = gateway.faults.add({ kind: "drop" });
  const lost = insert("acme").catch((error: Error) => error.name);
  await until("it arrived", () => placed.hits === 1);
  await gateway.close();
  expect(await lost).toBe("TypeError");
});

test("delay before holds the statement back, delay after its reply", async () => {
  const { gateway, insert, rows } = await setup();
  const before = gateway.faults.add({ kind: "delay", beforeMs: 500, times: 1 });
  const first = insert("acme");
  await until("it arrived", () => before.hits === 1);
  expect(gateway.stats.statements).toBe(0);
  await first;
  expect(await rows()).toBe(1);
  gateway.faults.add({ kind: "delay", afterMs: 60_000 });
  const deadline = new AbortController();
  const second = insert("acme", (url, init) => fetch(url, { ...init, signal: deadline.signal }));
  await until("it is stored", async () => (await rows()) === 2);
  deadline.abort();
  await expect(second).rejects.toThrow("aborted");
});

test("a rule for one tenant leaves the others alone", async () => {
  const { gateway, insert, rows } = await setup();
  gateway.faults.add({ kind: "refuse", tenant: "acme" });
  await insert("globex");
  await insert("acme2");
  await expect(insert("acme")).rejects.toThrow(TypeError);
  gateway.faults.clear();
  await insert("acme");
  expect(await rows()).toBe(3);
});
