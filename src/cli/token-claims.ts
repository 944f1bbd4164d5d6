/** What a token says of itself. Read for messages to its owner; only the server checks whether it is true. */
export interface TokenClaims {
  tenant?: string;
  scope?: string;
  /** Seconds since the epoch. */
  exp?: number;
}

/** null: not a JWT. */
export function tokenClaims(token: string): TokenClaims | null {
  const parts = token.split(".");
  if (parts.length !== 3) return null;
  try {
    const value: unknown = JSON.parse(Buffer.from(parts[1] ?? "", "base64url").toString("utf8"));
    if (typeof value !== "object" || value === null) return null;
    const { tenant, scope, exp } = value as Record<string, unknown>;
    return {
      ...(typeof tenant === "string" ? { tenant } : {}),
      ...(typeof scope === "string" ? { scope } : {}),
      ...(typeof exp === "number" ? { exp } : {}),
    };
  } catch {
    // Whatever it is, it says nothing that can be read.
    return null;
  }
}
