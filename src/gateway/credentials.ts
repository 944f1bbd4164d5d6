import { createHash, timingSafeEqual } from "node:crypto";

/** The driver sends a URL's user and password as they stand there, percent-encoding and all: these need none. */
const PLAIN = /^[A-Za-z0-9._~-]+$/;

/** Throws `TypeError` for a text that would reach the gateway changed. */
export function checkCredential(name: string, text: string): void {
  if (!PLAIN.test(text)) throw new TypeError(`${name} must be of letters, digits, "-", ".", "_" and "~"`);
}

/** Whether a header holds exactly these credentials (Basic, RFC 7617). Takes as long for any wrong ones. */
export function isAuthorized(header: string | undefined, user: string, password: string): boolean {
  const token = /^Basic +([A-Za-z0-9+/=]+) *$/i.exec(header ?? "")?.[1];
  if (token === undefined) return false;
  return timingSafeEqual(digest(Buffer.from(token, "base64").toString()), digest(`${user}:${password}`));
}

function digest(text: string): Buffer {
  return createHash("sha256").update(text).digest();
}
