/** Who the page reads as. Kept in this tab alone. */
export interface Session {
  tenant: string;
  /** null: the server asks for none (AUTH=off). */
  token: string | null;
}

export interface TokenClaims {
  /** null: every tenant's. */
  tenant: string | null;
  scopes: readonly string[];
  expiresAtMs: number | null;
}

/** The server takes no longer one. */
const MAX_TOKEN_CHARS = 4096;
const TOKEN_PATTERN = /^[A-Za-z0-9_-]+\.[A-Za-z0-9_-]+\.[A-Za-z0-9_-]+$/;
const TENANT_PATTERN = /^[a-z0-9][a-z0-9._-]{0,63}$/;
const SESSION_KEY = "fairlane.session";

/** What the token says of itself; whether it is true only the server knows. null: it is not an access token. */
export function claimsOf(token: string): TokenClaims | null {
  if (token.length > MAX_TOKEN_CHARS || !TOKEN_PATTERN.test(token)) return null;
  try {
    const payload = token.split(".")[1] ?? "";
    const bytes = Uint8Array.from(atob(payload.replaceAll("-", "+").replaceAll("_", "/")), (character) =>
      character.charCodeAt(0),
    );
    const claims: unknown = JSON.parse(new TextDecoder().decode(bytes));
    if (typeof claims !== "object" || claims === null) return null;
    const { tenant, scope, exp } = claims as Record<string, unknown>;
    if (typeof tenant !== "string" || typeof scope !== "string") return null;
    return {
      tenant: tenant === "*" ? null : tenant,
      scopes: scope.split(/\s+/).filter(Boolean),
      expiresAtMs: typeof exp === "number" ? exp * 1000 : null,
    };
  } catch {
    return null;
  }
}

export function isTenantName(text: string): boolean {
  return TENANT_PATTERN.test(text);
}

/** What a link brought along: `#token=…&tenant=…`, either of them absent. null: nothing of the kind. */
export function fromFragment(hash: string): { token: string | null; tenant: string | null } | null {
  const params = new URLSearchParams(hash.replace(/^#/, ""));
  const token = params.get("token");
  const tenant = params.get("tenant");
  return token === null && tenant === null ? null : { token, tenant };
}

/** What the page needs of a tab's storage. */
export interface TabStorage {
  getItem(key: string): string | null;
  setItem(key: string, text: string): void;
  removeItem(key: string): void;
}

export function loadSession(storage: TabStorage): Session | null {
  try {
    const kept: unknown = JSON.parse(storage.getItem(SESSION_KEY) ?? "null");
    if (typeof kept !== "object" || kept === null) return null;
    const { tenant, token } = kept as Record<string, unknown>;
    if (typeof tenant !== "string" || (token !== null && typeof token !== "string")) return null;
    return { tenant, token };
  } catch {
    // Not ours, or storage is forbidden: the form asks.
    return null;
  }
}

/** false: this tab keeps nothing, and a reload asks for the token again. */
export function keepSession(storage: TabStorage, session: Session | null): boolean {
  try {
    if (session === null) storage.removeItem(SESSION_KEY);
    else storage.setItem(SESSION_KEY, JSON.stringify(session));
    return true;
  } catch {
    return false;
  }
}
