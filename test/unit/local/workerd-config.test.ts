import { expect, test } from "vitest";
import { type NetworkReach, workerdConfig } from "../../../src/local/workerd-config.ts";

const config = (variables: Record<string, string>, network: NetworkReach = ["public"]) =>
  workerdConfig({ address: "[::1]:1", objectsPath: 'a"b\\c', variables, network });

test("the runtime's configuration escapes what it quotes", () => {
  const text = config({ NOTE: 'say "x"\\\n\u0000é' });
  expect(text).toContain('(name = "NOTE", text = "say \\"x\\"\\\\\\x0a\\x00é")');
  expect(text).toContain('path = "a\\"b\\\\c"');
});

test("all objects have SQLite and a folder name that never changes", () => {
  for (const name of ["TenantObject", "GcRegistry", "SplitManager"]) {
    expect(config({})).toContain(`(className = "${name}", uniqueKey = "fairlane-${name}", enableSql = true)`);
  }
});

test("cron listens on loopback, whatever the API's host", () => {
  expect(config({})).toMatch(/name = "cron", address = "127\.0\.0\.1:0"/);
});

test("the network reaches what it is told to", () => {
  expect(config({})).toContain('(allow = ["public"], tlsOptions');
  expect(config({}, ["private", "public"])).toContain('(allow = ["private", "public"], tlsOptions');
});
