import { resolve } from "node:path";
import { describe, expect, test } from "vitest";
import { unstable_readConfig } from "wrangler";
import { readConfig } from "../../../src/workers/config.ts";
import type { Env } from "../../../src/workers/env.ts";

const config = resolve(import.meta.dirname, "../../../wrangler.toml");
const embedded = unstable_readConfig({ config }, { hideWarnings: true });
const vitess = unstable_readConfig({ config, env: "vitess" }, { hideWarnings: true });
const AUTH_SECRET = "a-secret-of-the-tests";
const DATABASE_URL = "https://u:p@db.example";

describe("the environments of wrangler.toml", () => {
  test("have the same objects, migrations, cron and runtime", () => {
    for (const key of [
      "durable_objects",
      "migrations",
      "triggers",
      "compatibility_date",
      "compatibility_flags",
      "main",
    ] as const) {
      expect(vitess[key], key).toEqual(embedded[key]);
    }
    expect(embedded.durable_objects.bindings).toHaveLength(3);
    expect(vitess.name).not.toBe(embedded.name);
  });

  test("choose their logs, and need no variable but the secrets", () => {
    const read = (vars: Record<string, unknown>, secrets: Partial<Env>) =>
      readConfig({ ...(vars as Partial<Env>), ...secrets }, []);
    expect(read(embedded.vars, { AUTH_SECRET })).toMatchObject({ config: { log: { kind: "object" } } });
    expect(read(vitess.vars, { AUTH_SECRET, DATABASE_URL })).toMatchObject({
      config: { log: { kind: "vitess", commitHorizonMs: 120_000 } },
    });
    expect(read(vitess.vars, { AUTH_SECRET })).toMatchObject({ ok: false });
    expect(Object.keys(vitess.vars).filter((name) => name.startsWith("DATABASE_"))).toEqual([]);
  });

  test("run near the database, where there is one", () => {
    expect([embedded.placement, vitess.placement]).toEqual([undefined, { mode: "smart" }]);
  });
});
