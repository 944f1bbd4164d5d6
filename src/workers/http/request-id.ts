/** A caller's own ID is taken over where it cannot confuse a log. */
const SAFE_REQUEST_ID = /^[A-Za-z0-9._-]{1,64}$/;

export function requestIdOf(headers: Headers): string {
  const given = headers.get("x-request-id");
  return given !== null && SAFE_REQUEST_ID.test(given) ? given : crypto.randomUUID();
}
