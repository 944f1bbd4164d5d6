import { runDurableObjectAlarm, runInDurableObject } from "cloudflare:test";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import type { TenantObject } from "../../src/durable/tenant-object.ts";
import { env } from "./worker.ts";

let lines: string[];
beforeEach(() => {
  lines = [];
  vi.spyOn(console, "error").mockImplementation((line: string) => void lines.push(line));
});
afterEach(() => {
  vi.restoreAllMocks();
});

test("a tenant object without a usable log answers so, touches nothing, says why once, and stays armed", async () => {
  const stub = env.TENANT.getByName("misconfigured");
  const variables = { MESSAGE_LOG: "vitess", DATABASE_URL: "http://u:s3cret@db.example" };
  await runInDurableObject(stub, async (instance: TenantObject, state) => {
    Object.assign((instance as unknown as { env: object }).env, variables);
    const failure = { ok: false, error: { code: "internal", detail: "the tenant object is not configured" } };
    expect(await instance.listTopics("misconfigured", {})).toEqual(failure);
    expect(await instance.notify("misconfigured", { topic: "t", offsets: null })).toEqual(failure);
    expect(
      state.storage.sql.exec("SELECT name FROM sqlite_master WHERE name LIKE 'queue_%'").toArray(),
    ).toEqual([]);
    await state.storage.setAlarm(Date.now() + 60_000);
  });
  expect(await runDurableObjectAlarm(stub)).toBe(true);
  await runInDurableObject(stub, async (_instance, state) => {
    expect(await state.storage.getAlarm()).toBeGreaterThan(Date.now());
  });
  expect(lines).toHaveLength(1);
  expect(lines[0]).toContain("DATABASE_URL may be http:// only");
  expect(lines[0]).not.toContain("s3cret");
});
