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

const FIELDS = new Set(["id", "partitionKey", "body", "bytes", "contentType", "headers", "delayMs"]);

/**
 * Throws `TypeError` for what JSON cannot hold and for fields that do not exist, `RangeError` for a body over 1 MiB;
 * each names its place, and none repeats a value. What a key or header may be is for the server to say.
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

interface EncodedBody {
  field: "body" | "bytes";
  text: string;
  bytes: number;
}

function encodeBody(message: NewMessage, at: (field: string) => string): EncodedBody {
  const { bytes } = message;
  if (bytes !== undefined) {
    if (Object.hasOwn(message, "body") && message.body !== undefined) {
      throw new TypeError(`${at("bytes")} must not stand beside body`);
    }
    const view = bytesOf(bytes, at);
    return { field: "bytes", text: `"bodyBase64":"${encodeBase64(view)}"`, bytes: view.byteLength };
  }
  if (!Object.hasOwn(message, "body")) throw new TypeError(`${at("body")} or bytes must be there`);
  const text = jsonText(message.body, at("body"));
  return { field: "body", text: `"body":${text}`, bytes: utf8Length(text) };
}

function bytesOf(bytes: unknown, at: (field: string) => string): Uint8Array {
  if (ArrayBuffer.isView(bytes)) return new Uint8Array(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  if (bytes instanceof ArrayBuffer) return new Uint8Array(bytes);
  throw new TypeError(`${at("bytes")} must be a Uint8Array or an ArrayBuffer`);
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
