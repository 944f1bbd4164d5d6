import { verify } from "hono/jwt";
import { z } from "zod";
import { fail } from "../../core/failure.ts";
import type { Scope } from "../../protocol/operation.ts";

/** What a token allows. `tenant` is one tenant, or `*`. */
export interface Grant {
  tenant: string;
  scopes: ReadonlySet<string>;
  /** Seconds since the epoch, as the claim is. */
  expiresAtSeconds: number;
}

const claims = z.object({
  tenant: z.string().min(1),
  scope: z.string(),
  exp: z.number().nonnegative(),
});

/** Tokens that an isolate remembers as verified. */
export const MAX_VERIFIED_TOKENS = 1000;
/** Longer ones are not ours, and would make the cache large. */
const MAX_TOKEN_CHARS = 4096;

/**
 * Verifies tokens by one secret. A good signature stays good, so it is checked once; the expiry is
 * checked at each use.
 */
export class TokenVerifier {
  private readonly secret: string;
  private readonly verified = new Map<string, Grant>();

  constructor(secret: string) {
    this.secret = secret;
  }

  get remembered(): number {
    return this.verified.size;
  }

  /** null: not a valid token, for whatever reason. */
  async grantOf(authorization: string | null, nowMs: number): Promise<Grant | null> {
    const token = bearerToken(authorization);
    if (token === null) return null;
    const grant = this.verified.get(token) ?? (await this.verifyOnce(token));
    return grant !== null && grant.expiresAtSeconds * 1000 > nowMs ? grant : null;
  }

  private async verifyOnce(token: string): Promise<Grant | null> {
    let payload: unknown;
    try {
      // `exp` is checked at each use, by the caller's clock; `iat` is not among our claims.
      payload = await verify(token, this.secret, { alg: "HS256", exp: false, iat: false });
    } catch {
      // Every way to fail is the same 401: the difference would only help a forger.
      return null;
    }
    const read = claims.safeParse(payload);
    if (!read.success) return null;
    const { tenant, scope, exp } = read.data;
    const grant = { tenant, scopes: new Set(scope.split(/\s+/).filter(Boolean)), expiresAtSeconds: exp };
    if (this.verified.size >= MAX_VERIFIED_TOKENS) {
      const oldest = this.verified.keys().next();
      if (!oldest.done) this.verified.delete(oldest.value);
    }
    this.verified.set(token, grant);
    return grant;
  }
}

function bearerToken(authorization: string | null): string | null {
  const token = /^Bearer +([A-Za-z0-9._-]+)$/i.exec(authorization ?? "")?.[1];
  return token === undefined || token.length > MAX_TOKEN_CHARS ? null : token;
}

/** Throws `unauthorized` without a grant, `forbidden` for another tenant or without any of the scopes. */
export function checkGrant(grant: Grant | null, tenant: string, scopes: readonly Scope[]): void {
  if (grant === null) fail("unauthorized", "the request needs a valid token: Authorization: Bearer …");
  if (grant.tenant !== "*" && grant.tenant !== tenant) fail("forbidden", "the token is for another tenant");
  if (!scopes.some((scope) => grant.scopes.has(scope))) {
    fail("forbidden", `the token lacks the scope ${scopes.join(" or ")}`);
  }
}
