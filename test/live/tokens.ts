import { createHmac } from "node:crypto";

/** Claims of an access token; `exp` in seconds since the epoch. Anything else is there for bad-token cases. */
export type Claims = Record<string, unknown>;

const encode = (value: unknown) => Buffer.from(JSON.stringify(value)).toString("base64url");

/**
 * A JWT made from RFC 7519 alone, so that the suite does not trust the product's own minting.
 * `hash` and `header` can be made to disagree for the bad-token cases.
 */
export function signToken(
  secret: string,
  claims: Claims,
  header: Record<string, unknown> = { alg: "HS256", typ: "JWT" },
  hash = "sha256",
): string {
  const signed = `${encode(header)}.${encode(claims)}`;
  return `${signed}.${createHmac(hash, secret).update(signed).digest("base64url")}`;
}

export function inSeconds(seconds: number): number {
  return Math.floor(Date.now() / 1000) + seconds;
}

export function tenantToken(
  secret: string,
  tenant: string,
  scope = "publish consume admin",
  ttlSeconds = 3600,
): string {
  return signToken(secret, { tenant, scope, exp: inSeconds(ttlSeconds) });
}
