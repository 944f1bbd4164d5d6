import { createHmac } from "node:crypto";
import { describe, expect, test } from "vitest";
import { mintToken, parseTokenRequest } from "../../../src/local/access-token.ts";

describe("access tokens", () => {
  test("are HS256 JWTs with the claims of the API", async () => {
    const token = await mintToken(
      "secret",
      { tenant: "acme", scope: "publish", ttlSeconds: 60 },
      1_700_000_000_999,
    );
    const [header = "", payload = "", signature] = token.split(".");
    expect(JSON.parse(Buffer.from(header, "base64url").toString())).toEqual({ alg: "HS256", typ: "JWT" });
    expect(JSON.parse(Buffer.from(payload, "base64url").toString())).toEqual({
      tenant: "acme",
      scope: "publish",
      iat: 1_700_000_000,
      exp: 1_700_000_060,
    });
    expect(signature).toBe(createHmac("sha256", "secret").update(`${header}.${payload}`).digest("base64url"));
  });

  test("are asked for in words", () => {
    expect(parseTokenRequest("*", " publish  consume publish", "90s")).toEqual({
      tenant: "*",
      scope: "publish consume",
      ttlSeconds: 90,
    });
    expect(
      ["15m", "1h", "7d", "3650d"].map((ttl) => parseTokenRequest("a", "admin", ttl).ttlSeconds),
    ).toEqual([900, 3600, 604_800, 315_360_000]);
  });

  test.each([
    ["", "publish", "1h", "tenant"],
    ["Acme", "publish", "1h", "tenant"],
    ["acme,demo", "publish", "1h", "tenant"],
    ["acme", "", "1h", "scope"],
    ["acme", "write", "1h", "scope"],
    ["acme", "publish,consume", "1h", "scope"],
    ["acme", "publish", "", "ttl"],
    ["acme", "publish", "0s", "ttl"],
    ["acme", "publish", "-1h", "ttl"],
    ["acme", "publish", "1.5h", "ttl"],
    ["acme", "publish", "1w", "ttl"],
    ["acme", "publish", "3651d", "ttl"],
    ["acme", "publish", "99999999999s", "ttl"],
  ])("are refused for tenant %j, scope %j, ttl %j", (tenant, scope, ttl, field) => {
    expect(() => parseTokenRequest(tenant, scope, ttl)).toThrow(new RegExp(`^${field} `));
  });
});
