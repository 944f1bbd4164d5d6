import { sign } from "hono/jwt";
import { tenantProblem } from "../core/names.ts";
import { StartRefusal } from "./start-refusal.ts";

export const SCOPES = ["publish", "consume", "admin"] as const;
export const EVERY_TENANT = "*";
const SECONDS_PER_UNIT = new Map([
  ["s", 1],
  ["m", 60],
  ["h", 3600],
  ["d", 24 * 3600],
]);
const MAX_TTL_SECONDS = 10 * 365 * 24 * 3600;

export interface TokenRequest {
  /** One tenant, or `*` for all. */
  tenant: string;
  /** Space-separated: publish, consume, admin. */
  scope: string;
  ttlSeconds: number;
}

/** An access token as the API wants it: a JWT signed with HS256, claims `tenant`, `scope`, `iat`, `exp`. */
export async function mintToken(secret: string, request: TokenRequest, nowMs: number): Promise<string> {
  const iat = Math.floor(nowMs / 1000);
  const { tenant, scope, ttlSeconds } = request;
  return sign({ tenant, scope, iat, exp: iat + ttlSeconds }, secret, "HS256");
}

/** Throws a StartRefusal on a tenant, scope or lifetime that no token can have. `ttl` is like 90s, 15m, 1h, 7d. */
export function parseTokenRequest(tenant: string, scope: string, ttl: string): TokenRequest {
  const problem = tenant === EVERY_TENANT ? null : tenantProblem(tenant);
  if (problem)
    throw new StartRefusal(`tenant ${JSON.stringify(tenant)} ${problem}, or be * for every tenant`);
  const words = scope.split(/\s+/).filter((word) => word !== "");
  const unknown = words.find((word) => !(SCOPES as readonly string[]).includes(word));
  if (unknown !== undefined || words.length === 0) {
    throw new StartRefusal(`scope ${JSON.stringify(scope)} must be some of: ${SCOPES.join(" ")}`);
  }
  return { tenant, scope: [...new Set(words)].join(" "), ttlSeconds: parseTtlSeconds(ttl) };
}

function parseTtlSeconds(ttl: string): number {
  const match = /^([1-9][0-9]{0,9})([smhd])$/.exec(ttl);
  const seconds = match
    ? Number(match[1]) * (SECONDS_PER_UNIT.get(match[2] ?? "") ?? Number.NaN)
    : Number.NaN;
  if (seconds <= MAX_TTL_SECONDS) return seconds;
  throw new StartRefusal(`ttl ${JSON.stringify(ttl)} must be like 90s, 15m, 1h or 7d, at most 3650d`);
}
