import { MAX_BODY_BYTES } from "../core/limits.ts";
import { encodeBase64 } from "../protocol/base64.ts";
import { utf8Length } from "../protocol/utf8.ts";
import type { NewMessage } from "./message.ts";

/** A message as the API takes it. */
export interface EncodedMessage {
  /** JSON text. */
  text: string;
  /** Of the text in UTF-8. */
  textBytes: number;
  /** Of the body, as the server counts it. */
  bodyBytes: number;
}

const FIELDS = new Set([
  "id",
  "partitionKey",
  "body",
  "bodyText",
  "bytes",
  "contentType",
  "headers",
  "delayMs",
]);

/**
 * Throws `TypeError` for what JSON cannot hold, a text that is not JSON, and fields that do not exist, `RangeError` for
 * a body over 1 MiB; each names its place, and none repeats a value. What a key or header may be is for the server to
 * say.
 *
 * @param place of the message in its call, e.g. `messages[3]`; "" where it is the only one
 * @param makeId gives the ID of a message that has none
 */
export function encodeMessage(message: NewMessage, place: string, makeId: () => string): EncodedMessage {
  if (typeof message !== "object" || message === null)
    throw new TypeError(`${place || "the message"} must be an object`);
  const at = (field: string) => (place === "" ? field : `${place}.${field}`);
  for (const field of Object.keys(message)) {
    if (!FIELDS.has(field)) throw new TypeError(`${at(field)} is not a field of a message`);
  }
  const { id = makeId(), partitionKey, headers, delayMs } = message;
  const body = encodeBody(message, at);
  if (body.bytes > MAX_BODY_BYTES) throw new RangeError(`${at(body.field)} has over ${MAX_BODY_BYTES} bytes`);
  // The body's own text, so that its size is known without writing it twice.
  const { contentType } = message;
  const others = jsonText({ id, partitionKey, contentType, headers, delayMs }, place || "the message");
  const text = `${others.slice(0, -1)},${body.text}}`;
  return { text, textBytes: utf8Length(text), bodyBytes: body.bytes };
}

const BODY_FIELDS = ["body", "bodyText", "bytes"] as const;

interface EncodedBody {
  field: (typeof BODY_FIELDS)[number];
  text: string;
  bytes: number;
}

function encodeBody(message: NewMessage, at: (field: string) => string): EncodedBody {
  const given = BODY_FIELDS.filter((field) => message[field] !== undefined);
  const [field, other] = given;
  if (other !== undefined) throw new TypeError(`${at(other)} must not stand beside ${field}`);
  if (field === "bytes") {
    const view = bytesOf(message.bytes, at);
    return { field, text: `"bodyBase64":"${encodeBase64(view)}"`, bytes: view.byteLength };
  }
  if (field === undefined && !Object.hasOwn(message, "body")) {
    throw new TypeError(`${at("body")}, bodyText or bytes must be there`);
  }
  const text =
    field === "bodyText" ? checkedText(message.bodyText, at("bodyText")) : bodyJson(message.body, at("body"));
  return { field: field ?? "body", text: `"body":${text}`, bytes: utf8Length(text) };
}

/** Without the white space around the value, which the server does not keep either. */
function checkedText(text: unknown, place: string): string {
  if (typeof text !== "string") throw new TypeError(`${place} must be a string`);
  if (!text.isWellFormed()) {
    throw new TypeError(
      `${place} has half of a surrogate pair, which UTF-8 cannot hold: write it as an escape`,
    );
  }
  try {
    JSON.parse(text);
  } catch {
    // The parser's own words quote the text.
    throw new TypeError(`${place} is not one JSON value`);
  }
  // Around a JSON value there is no other white space than JSON's.
  return text.trim();
}

function bytesOf(bytes: unknown, at: (field: string) => string): Uint8Array {
  if (ArrayBuffer.isView(bytes)) return new Uint8Array(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  if (bytes instanceof ArrayBuffer) return new Uint8Array(bytes);
  throw new TypeError(`${at("bytes")} must be a Uint8Array or an ArrayBuffer`);
}

/** What JSON writes for what it cannot hold; only a text that has one is looked at once more. */
const MAY_BE_LOSSY = /null|\{\}/;

/** What JSON would silently write as something else is refused like the rest that it cannot hold. */
function bodyJson(body: unknown, place: string): string {
  const text = jsonText(body, place);
  if (!MAY_BE_LOSSY.test(text)) return text;
  JSON.stringify(body, function (this: unknown, _name, value: unknown) {
    const lost = lostValue(value, Array.isArray(this));
    if (lost !== null) {
      throw new TypeError(`${place} holds ${lost}: it must be a value that JSON can hold`);
    }
    return value;
  });
  return text;
}

/** null: JSON holds it, or leaves the property out as everywhere in JavaScript. */
function lostValue(value: unknown, isInArray: boolean): string | null {
  if (typeof value === "number" && !Number.isFinite(value)) return String(value);
  if (value instanceof Map) return "a Map";
  if (value instanceof Set) return "a Set";
  if (isInArray && (value === undefined || typeof value === "function" || typeof value === "symbol"))
    return `${typeof value} in an array`;
  return null;
}

function jsonText(value: unknown, place: string): string {
  let text: string | undefined;
  try {
    text = JSON.stringify(value);
  } catch (cause) {
    const reason =
      cause instanceof TypeError && /bigint/i.test(cause.message) ? "holds a BigInt" : "cannot be written";
    throw new TypeError(`${place} ${reason}: it must be a value that JSON can hold`, { cause });
  }
  if (text === undefined)
    throw new TypeError(`${place} is ${typeof value}: it must be a value that JSON can hold`);
  return text;
}
