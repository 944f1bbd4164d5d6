/** The header of W3C Baggage: `user=alice;property, tenant=a%20b`. */
export const BAGGAGE_HEADER = "baggage";

const TOKEN = /^[A-Za-z0-9!#$%&'*+.^_`|~-]+$/;
const MALFORMED_ESCAPE = /%(?![0-9A-Fa-f]{2})/;
const decoder = new TextDecoder("utf-8", { fatal: false, ignoreBOM: true });
const encoder = new TextEncoder();

/** Whether a member can have this name: a token of RFC 9110. */
export function isMemberName(name: string): boolean {
  return TOKEN.test(name);
}

/**
 * The members of a header by name, percent-decoded; of those asked for only. What stands after `;` is left out, the
 * last of a name counts, and a member that is malformed is as if it were not there: without `=`, with a name that is no
 * token, or with a `%` that no two hexadecimal digits follow. Bytes that are not UTF-8 become U+FFFD, as W3C says.
 */
export function membersOf(header: string, names: ReadonlySet<string>): Map<string, string> {
  const members = new Map<string, string>();
  let equals = -1;
  for (let from = 0; from <= header.length; ) {
    let to = header.indexOf(",", from);
    if (to === -1) to = header.length;
    // Not looked for again before it is reached: a row of commas would take quadratic time.
    if (equals < from) equals = header.indexOf("=", from);
    if (equals === -1) break;
    if (equals < to) {
      const name = trimmed(header.slice(from, equals));
      if (names.has(name)) {
        const value = memberValue(header.slice(equals + 1, to));
        if (value !== null) members.set(name, value);
      }
    }
    from = to + 1;
  }
  return members;
}

/** A header that has these members. */
export function baggageText(members: Iterable<readonly [name: string, value: string]>): string {
  return Array.from(members, ([name, value]) => `${name}=${encodeURIComponent(value)}`).join(",");
}

function memberValue(text: string): string | null {
  const end = text.indexOf(";");
  const value = trimmed(end === -1 ? text : text.slice(0, end));
  if (!value.includes("%")) return value;
  return MALFORMED_ESCAPE.test(value) ? null : decoded(value);
}

function decoded(value: string): string {
  const bytes = encoder.encode(value);
  let length = 0;
  for (let i = 0; i < bytes.length; i++) {
    let byte = bytes[i] as number;
    if (byte === 0x25) {
      byte = Number.parseInt(String.fromCharCode(bytes[i + 1] as number, bytes[i + 2] as number), 16);
      i += 2;
    }
    bytes[length++] = byte;
  }
  return decoder.decode(bytes.subarray(0, length));
}

/** Without spaces and tabs at its ends. */
function trimmed(text: string): string {
  let from = 0;
  let to = text.length;
  while (from < to && isBlank(text.charCodeAt(from))) from++;
  while (to > from && isBlank(text.charCodeAt(to - 1))) to--;
  return text.slice(from, to);
}

function isBlank(code: number): boolean {
  return code === 0x20 || code === 0x09;
}
