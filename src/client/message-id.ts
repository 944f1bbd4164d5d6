import { MAX_KEY_CODE_POINTS } from "../core/limits.ts";

/**
 * Stands between the readable start of an ID that would be too long and its hash. What escapes a character is always
 * followed by two hexadecimal digits, so no ID that is short enough has it.
 */
const HASH_MARK = "%sha256-";
const HASH_CHARS = 64;

/**
 * The ID of an occasion: the entity that something happened to, and what caused it, from the general to the
 * particular. The same parts give the same ID, and different parts never do, so that whoever publishes on the same
 * occasion a second time stores nothing.
 *
 * `await messageId("order-1", "created")` is `order-1/created`. `%`, `/`, NUL and a space at the end of a part are
 * percent-encoded. An ID of more than 255 characters is cut, and ends with a SHA-256 of the whole.
 *
 * Rejects with `TypeError` for a part that is empty, no text, or holds a lone surrogate.
 */
export async function messageId(entity: string, ...causes: string[]): Promise<string> {
  const id = [entity, ...causes].map(escapedPart).join("/");
  const characters = [...id];
  if (characters.length <= MAX_KEY_CODE_POINTS) return id;
  const hash = await crypto.subtle.digest("SHA-256", new TextEncoder().encode(id));
  const start = characters.slice(0, MAX_KEY_CODE_POINTS - HASH_MARK.length - HASH_CHARS).join("");
  return start + HASH_MARK + hexOf(new Uint8Array(hash));
}

function escapedPart(part: unknown, index: number): string {
  const name = index === 0 ? "the entity" : `cause ${index}`;
  if (typeof part !== "string") throw new TypeError(`${name} must be a string`);
  if (part === "") throw new TypeError(`${name} must not be empty`);
  if (!part.isWellFormed())
    throw new TypeError(`${name} must be well-formed Unicode: it holds a lone surrogate`);
  return part.replace(
    /[%/\0]| $/g,
    (character) => `%${hexOf(Uint8Array.of(character.charCodeAt(0))).toUpperCase()}`,
  );
}

function hexOf(bytes: Uint8Array): string {
  return [...bytes].map((byte) => byte.toString(16).padStart(2, "0")).join("");
}
