import type { Failure } from "../core/failure.ts";
import {
  MAX_BATCH_BODY_BYTES,
  MAX_BATCH_MESSAGES,
  MAX_BODY_BYTES,
  MAX_CONTENT_TYPE_CHARS,
  MAX_DELAY_MS,
} from "../core/limits.ts";
import { keyProblem, publishedKeyProblem } from "../core/names.ts";
import { spreadLane } from "../core/spread.ts";
import type { NewMessage } from "../log/message-log.ts";
import { decodeBase64 } from "./base64.ts";
import { IssueList, joinPath } from "./issues.ts";
import { isJsonObject, type MessageSpans, type PublishSpans, scanPublishSpans } from "./json-spans.ts";
import { type HeaderPair, headerIssues, headersText } from "./message-headers.ts";
import { decodeUtf8, utf8Length } from "./utf8.ts";

/**
 * From the bytes of a publish request to messages that a log can store: the hot path, by hand. The
 * documented schema is `publishRequest`; test/property compares the verdicts.
 */
export type ReadPublish = { ok: true; messages: NewMessage[] } | { ok: false; error: Failure };

/** Makes the ID of a message that has none. */
export type MakeId = () => string;

export const DEFAULT_CONTENT_TYPE = "application/octet-stream";
const CONTENT_TYPE_PATTERN = /^[!-~]([ -~]*[!-~])?$/;
const MESSAGE_FIELDS = new Set([
  "id",
  "partitionKey",
  "body",
  "bodyBase64",
  "contentType",
  "headers",
  "delayMs",
]);

/** What reading one request needs at hand. */
interface Reading {
  text: string;
  /** Every character is one byte. */
  ascii: boolean;
  issues: IssueList;
  makeId: MakeId;
}

export function readPublish(bytes: Uint8Array, makeId: MakeId): ReadPublish {
  const issues = new IssueList();
  const text = decodeUtf8(bytes);
  const parsed = text === null ? null : parseJson(text);
  if (text === null || parsed === null) {
    issues.add("", text === null ? "must be UTF-8 without a byte order mark" : "must be JSON");
    return invalid(issues);
  }
  const spans = scanPublishSpans(text, MAX_BATCH_MESSAGES);
  const elements = checkEnvelope(parsed.value, spans, issues);
  if (elements === null) return invalid(issues);
  const reading: Reading = { text, ascii: text.length === bytes.length, issues, makeId };
  const messages: NewMessage[] = [];
  for (let i = 0; i < elements.length; i++) {
    const message = readMessage(reading, elements[i], spans.messages[i] ?? null, `messages[${i}]`);
    if (message !== null) messages.push(message);
  }
  if (!issues.isEmpty) return invalid(issues);
  const tooLarge = sizeProblem(messages, reading.ascii);
  return tooLarge === null
    ? { ok: true, messages }
    : { ok: false, error: { code: "payload-too-large", detail: tooLarge } };
}

function invalid(issues: IssueList): ReadPublish {
  return {
    ok: false,
    error: { code: "invalid-request", detail: "nothing was stored", issues: issues.issues },
  };
}

/** null: not JSON. A nesting that the engine gives up on is not JSON that we take either. */
function parseJson(text: string): { value: unknown } | null {
  try {
    return { value: JSON.parse(text) };
  } catch {
    return null;
  }
}

/** The elements of `messages`, or null after noting why there are none to read. */
function checkEnvelope(value: unknown, spans: PublishSpans, issues: IssueList): unknown[] | null {
  if (!isJsonObject(value)) {
    issues.add("", "must be an object");
    return null;
  }
  checkNames(spans.names, (name) => name === "messages", "", issues);
  const messages = value.messages;
  if (!Array.isArray(messages)) issues.add("messages", "must be an array");
  else if (messages.length === 0) issues.add("messages", "must have at least 1 message");
  else if (messages.length > MAX_BATCH_MESSAGES) {
    issues.add("messages", `must have at most ${MAX_BATCH_MESSAGES} messages`);
  }
  return issues.isEmpty ? (messages as unknown[]) : null;
}

/** A name twice is refused: which of the two was meant is a guess, and parsers differ in it. */
function checkNames(
  names: readonly string[],
  isKnown: (name: string) => boolean,
  path: string,
  issues: IssueList,
): void {
  for (let i = 0; i < names.length; i++) {
    const name = names[i] as string;
    if (!isKnown(name)) issues.add(joinPath(path, name), "is not a known field");
    else if (names.indexOf(name) !== i) issues.add(joinPath(path, name), "must be there only once");
  }
}

function readMessage(
  reading: Reading,
  value: unknown,
  spans: MessageSpans | null,
  path: string,
): NewMessage | null {
  const { issues } = reading;
  if (spans === null || !isJsonObject(value)) {
    issues.add(path, "must be an object");
    return null;
  }
  const message = value;
  checkNames(spans.names, (name) => MESSAGE_FIELDS.has(name), path, issues);
  const has = (field: string) => Object.hasOwn(message, field);

  let id: string;
  if (has("id")) id = readKey(message.id, keyProblem, `${path}.id`, issues);
  else id = reading.makeId();
  let partitionKey: string;
  if (!has("partitionKey")) partitionKey = spreadLane(id);
  else partitionKey = readKey(message.partitionKey, publishedKeyProblem, `${path}.partitionKey`, issues);
  const delayMs = has("delayMs") ? readDelay(message.delayMs, `${path}.delayMs`, issues) : 0;
  const headers = has("headers") ? readHeaders(message.headers, spans, `${path}.headers`, issues) : "";

  const hasBytes = has("bodyBase64");
  if (spans.bodyStart < 0 && !hasBytes) issues.add(`${path}.body`, "body or bodyBase64 must be there");
  if (spans.bodyStart >= 0 && hasBytes) issues.add(`${path}.bodyBase64`, "must not stand beside body");
  let contentType: string | null = hasBytes ? DEFAULT_CONTENT_TYPE : null;
  if (has("contentType")) {
    contentType = readContentType(message.contentType, `${path}.contentType`, issues);
    if (!hasBytes) issues.add(`${path}.contentType`, "stands only beside bodyBase64");
  }
  const body = hasBytes
    ? readBytes(message.bodyBase64, `${path}.bodyBase64`, issues)
    : reading.text.slice(spans.bodyStart, spans.bodyEnd);
  return { id, partitionKey, body, contentType, headers, delayMs };
}

function readKey(
  value: unknown,
  problemOf: (key: string) => string | null,
  path: string,
  issues: IssueList,
): string {
  const problem = typeof value === "string" ? problemOf(value) : "must be a string";
  if (problem === null) return value as string;
  issues.add(path, problem);
  return "";
}

function readDelay(value: unknown, path: string, issues: IssueList): number {
  if (!Number.isSafeInteger(value)) issues.add(path, "must be an integer");
  else if ((value as number) < 0) issues.add(path, "must be at least 0");
  else if ((value as number) > MAX_DELAY_MS) issues.add(path, `must be at most ${MAX_DELAY_MS}`);
  // JSON has a -0, which is not the 0 that was meant.
  else return (value as number) + 0;
  return 0;
}

/** The value of a repeated name is whichever came last; it is refused all the same. */
function readHeaders(value: unknown, spans: MessageSpans, path: string, issues: IssueList): string {
  if (!isJsonObject(value)) {
    issues.add(path, "must be an object of strings");
    return "";
  }
  const pairs = spans.headerNames.map((name): HeaderPair => [name, value[name]]);
  const found = headerIssues(pairs);
  for (const { name, message } of found) issues.add(name === null ? path : joinPath(path, name), message);
  return found.length === 0 ? headersText(pairs) : "";
}

export function contentTypeProblem(value: unknown): string | null {
  if (typeof value !== "string") return "must be a string";
  if (value.length === 0) return "must not be empty";
  if (value.length > MAX_CONTENT_TYPE_CHARS) return `must have at most ${MAX_CONTENT_TYPE_CHARS} characters`;
  return CONTENT_TYPE_PATTERN.test(value) ? null : "must be printable ASCII";
}

function readContentType(value: unknown, path: string, issues: IssueList): string {
  const problem = contentTypeProblem(value);
  if (problem === null) return value as string;
  issues.add(path, problem);
  return DEFAULT_CONTENT_TYPE;
}

function readBytes(value: unknown, path: string, issues: IssueList): Uint8Array {
  const bytes = typeof value === "string" ? decodeBase64(value) : null;
  if (bytes !== null) return bytes;
  const problem =
    typeof value === "string" ? "must be base64 with padding (RFC 4648, section 4)" : "must be a string";
  issues.add(path, problem);
  return new Uint8Array(0);
}

function sizeProblem(messages: readonly NewMessage[], ascii: boolean): string | null {
  let total = 0;
  for (let i = 0; i < messages.length; i++) {
    const body = (messages[i] as NewMessage).body;
    const bytes = typeof body === "string" ? utf8Length(body, ascii) : body.length;
    if (bytes > MAX_BODY_BYTES) return `the body of messages[${i}] has over ${MAX_BODY_BYTES} bytes`;
    total += bytes;
  }
  return total > MAX_BATCH_BODY_BYTES ? `the bodies have over ${MAX_BATCH_BODY_BYTES} bytes in all` : null;
}
