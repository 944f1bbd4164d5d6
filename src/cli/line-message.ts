import type { NewMessage } from "../client/fairlane.ts";
import { keyProblem, publishedKeyProblem } from "../core/names.ts";
import { decodeBase64 } from "../protocol/base64.ts";
import { scanPublishSpans } from "../protocol/json-spans.ts";
import { decodeUtf8 } from "../protocol/utf8.ts";

/** What a line says where it does not say it itself. */
export interface LineDefaults {
  key?: string;
  header?: Record<string, string>;
  delay?: number;
}

/** A line that can be no message, and why. */
export class LineProblem extends Error {
  override readonly name = "LineProblem";
}

const FIELDS = new Set(["id", "partitionKey", "body", "bodyBase64", "contentType", "headers", "delayMs"]);

/** The message that a line of JSON is. Throws a LineProblem. */
export function lineMessage(line: Uint8Array, defaults: LineDefaults): NewMessage {
  const text = decodeUtf8(line);
  if (text === null) throw new LineProblem("is not UTF-8");
  const value = parsed(text);
  if (typeof value !== "object" || value === null || Array.isArray(value)) {
    throw new LineProblem("is not a JSON object");
  }
  const given = value as Record<string, unknown>;
  for (const name of Object.keys(given)) {
    if (!FIELDS.has(name))
      throw new LineProblem(`has a field that no message has: ${JSON.stringify(name.slice(0, 40))}`);
  }
  const id = textOf(given, "id", keyProblem);
  const partitionKey = textOf(given, "partitionKey", publishedKeyProblem) ?? defaults.key;
  const headers = headersOf(given.headers, defaults.header);
  const delayMs = delayOf(given.delayMs) ?? defaults.delay;
  return {
    ...(id === undefined ? {} : { id }),
    ...(partitionKey === undefined ? {} : { partitionKey }),
    ...(headers === undefined ? {} : { headers }),
    ...(delayMs === undefined ? {} : { delayMs }),
    ...bodyOf(given, text),
  } as NewMessage;
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    // The parser's own message quotes the line, which may be anybody's data.
    throw new LineProblem("is not JSON");
  }
}

function textOf(
  given: Record<string, unknown>,
  name: "id" | "partitionKey",
  problemOf: (text: string) => string | null,
): string | undefined {
  if (!Object.hasOwn(given, name)) return undefined;
  const value = given[name];
  const problem = typeof value === "string" ? problemOf(value) : "must be a string";
  if (problem !== null) throw new LineProblem(`${name} ${problem}`);
  return value as string;
}

/** Names and values are for the server to judge. */
function headersOf(value: unknown, defaults: LineDefaults["header"]): Record<string, string> | undefined {
  if (value === undefined) return defaults && { ...defaults };
  if (typeof value !== "object" || value === null || Array.isArray(value)) {
    throw new LineProblem("headers must be an object of strings");
  }
  if (Object.values(value).some((one) => typeof one !== "string")) {
    throw new LineProblem("headers must be an object of strings");
  }
  return { ...defaults, ...(value as Record<string, string>) };
}

function delayOf(value: unknown): number | undefined {
  if (value === undefined) return undefined;
  if (Number.isSafeInteger(value)) return value as number;
  throw new LineProblem("delayMs must be an integer");
}

function bodyOf(
  given: Record<string, unknown>,
  line: string,
): Pick<NewMessage, "bodyText" | "bytes" | "contentType"> {
  const hasBytes = Object.hasOwn(given, "bodyBase64");
  if (Object.hasOwn(given, "body") === hasBytes) throw new LineProblem("must have a body or a bodyBase64");
  if (!hasBytes) {
    if (Object.hasOwn(given, "contentType"))
      throw new LineProblem("contentType stands only beside bodyBase64");
    return { bodyText: bodyTextOf(line) };
  }
  const bytes = typeof given.bodyBase64 === "string" ? decodeBase64(given.bodyBase64) : null;
  if (bytes === null) throw new LineProblem("bodyBase64 must be base64 with padding");
  const { contentType } = given;
  if (contentType === undefined) return { bytes };
  if (typeof contentType !== "string") throw new LineProblem("contentType must be a string");
  return { bytes, contentType };
}

/** As it stands in a line that has a body: its parsed value would have lost large integers, `1.0` and repeated names. */
function bodyTextOf(line: string): string {
  const list = `{"messages":[${line}]}`;
  const spans = scanPublishSpans(list, 1).messages[0];
  return spans ? list.slice(spans.bodyStart, spans.bodyEnd) : "";
}
