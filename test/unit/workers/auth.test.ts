import { sign } from "hono/jwt";
import { describe, expect, test } from "vitest";
import type { FairlaneError } from "../../../src/core/failure.ts";
import { checkGrant, MAX_VERIFIED_TOKENS, TokenVerifier } from "../../../src/workers/http/auth.ts";

const SECRET = "a-secret-of-the-tests";
const NOW_MS = 1_700_000_000_000;
const EXP = NOW_MS / 1000 + 60;
const good = { tenant: "demo", scope: "publish consume", exp: EXP };

const bearer = async (claims: Record<string, unknown>, secret = SECRET, alg: "HS256" | "HS512" = "HS256") =>
  `Bearer ${await sign(claims, secret, alg)}`;

describe("verifying", () => {
  test("a good token, whatever the letter case of the scheme", async () => {
    const verifier = new TokenVerifier(SECRET);
    const header = await bearer(good);
    for (const authorization of [header, header.replace("Bearer", "bearer"), header.replace(" ", "  ")]) {
      const grant = await verifier.grantOf(authorization, NOW_MS);
      expect(grant).toMatchObject({ tenant: "demo", expiresAtSeconds: EXP });
      expect([...(grant?.scopes ?? [])]).toEqual(["publish", "consume"]);
    }
    expect(verifier.remembered).toBe(1);
  });

  test("the expiry counts at each use, also of a token that is remembered", async () => {
    const verifier = new TokenVerifier(SECRET);
    const header = await bearer(good);
    expect(await verifier.grantOf(header, EXP * 1000 - 1)).not.toBeNull();
    expect(await verifier.grantOf(header, EXP * 1000)).toBeNull();
    expect(await verifier.grantOf(header, EXP * 1000 - 1)).not.toBeNull();
  });

  test.each<[string, () => Promise<string | null>]>([
    ["nothing", async () => null],
    ["another secret", () => bearer(good, `${SECRET}x`)],
    ["another algorithm", () => bearer(good, SECRET, "HS512")],
    ["no exp", () => bearer({ tenant: "demo", scope: "publish" })],
    ["exp as text", () => bearer({ ...good, exp: String(EXP) })],
    ["no tenant", () => bearer({ scope: "publish", exp: EXP })],
    ["an empty tenant", () => bearer({ ...good, tenant: "" })],
    ["tenants as a list", () => bearer({ ...good, tenant: ["demo"] })],
    ["no scope", () => bearer({ tenant: "demo", exp: EXP })],
    ["another scheme", async () => (await bearer(good)).replace("Bearer", "Basic")],
    ["two tokens", async () => `${await bearer(good)} x`],
    ["a token of absurd length", () => bearer({ ...good, more: "m".repeat(5000) })],
    ["not begun yet", () => bearer({ ...good, nbf: Date.now() / 1000 + 1000 })],
  ])("refuses %s", async (_, header) => {
    const verifier = new TokenVerifier(SECRET);
    expect(await verifier.grantOf(await header(), NOW_MS)).toBeNull();
    expect(verifier.remembered).toBe(0);
  });

  test("no more tokens are remembered than the bound", async () => {
    const verifier = new TokenVerifier(SECRET);
    for (let i = 0; i < MAX_VERIFIED_TOKENS + 5; i++)
      await verifier.grantOf(await bearer({ ...good, i }), NOW_MS);
    expect(verifier.remembered).toBe(MAX_VERIFIED_TOKENS);
    expect(await verifier.grantOf(await bearer({ ...good, i: 0 }), NOW_MS)).not.toBeNull();
  });
});

describe("the grant", () => {
  const codeOf = (...check: Parameters<typeof checkGrant>) => {
    try {
      checkGrant(...check);
      return null;
    } catch (error) {
      return (error as FairlaneError).failure.code;
    }
  };
  const grant = (tenant: string, ...scopes: string[]) => ({
    tenant,
    scopes: new Set(scopes),
    expiresAtSeconds: EXP,
  });

  test("401 without one; 403 for another tenant or scope", () => {
    expect(codeOf(null, "demo", ["publish"])).toBe("unauthorized");
    expect(codeOf(grant("acme", "publish"), "demo", ["publish"])).toBe("forbidden");
    expect(codeOf(grant("demo", "publish"), "demo", ["consume", "admin"])).toBe("forbidden");
    expect(codeOf(grant("demo"), "demo", ["publish"])).toBe("forbidden");
  });

  test("any of the scopes suffices; * is every tenant", () => {
    expect(codeOf(grant("demo", "admin"), "demo", ["consume", "admin"])).toBeNull();
    expect(codeOf(grant("*", "publish"), "demo", ["publish"])).toBeNull();
  });
});
