/**
 * Where the values of a publish request stand in its source text, so that a body can be stored as it
 * was written; and those of a reply with a list of messages, so that a body can be handed over as it was. `JSON.parse` keeps none of what must be kept: large integers, `1.0`, repeated names,
 * the order of names.
 *
 * The text must be valid JSON already (`JSON.parse` accepted it): the scanner relies on the grammar
 * and only walks the envelope. It is linear and keeps no stack, so no nesting depth can overflow it.
 */
export interface PublishSpans {
  /** Names of the envelope, in source order, repeated ones included. */
  names: string[];
  /** One per element of the (last) list; at most `maxMessages`. Elements that are no objects are null. */
  messages: (MessageSpans | null)[];
}

export interface MessageSpans {
  names: string[];
  /** Names in `headers`, when that is an object. */
  headerNames: string[];
  /** Source text of `body` without the white space around it: [start, end). -1 when there is none. */
  bodyStart: number;
  bodyEnd: number;
}

/** Names read of any one object; one more than that is a request that is refused anyway. */
const MAX_NAMES = 1000;

/** @param listName which of the envelope's names has the messages */
export function scanPublishSpans(text: string, maxMessages: number, listName = "messages"): PublishSpans {
  const spans: PublishSpans = { names: [], messages: [] };
  const start = skipSpace(text, 0);
  if (text.charCodeAt(start) !== OPEN_BRACE) return spans;
  walkObject(text, start, spans.names, (name, valueStart) => {
    if (name !== listName || text.charCodeAt(valueStart) !== OPEN_BRACKET) return skipValue(text, valueStart);
    spans.messages = [];
    return walkMessages(text, valueStart, maxMessages, spans.messages);
  });
  return spans;
}

export function isJsonObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** Returns the end of the array, or of the text where the limit was reached. */
function walkMessages(text: string, open: number, max: number, into: (MessageSpans | null)[]): number {
  let at = skipSpace(text, open + 1);
  if (text.charCodeAt(at) === CLOSE_BRACKET) return at + 1;
  for (;;) {
    if (into.length === max) return text.length;
    if (text.charCodeAt(at) === OPEN_BRACE) {
      const message: MessageSpans = { names: [], headerNames: [], bodyStart: -1, bodyEnd: -1 };
      at = walkMessage(text, at, message);
      into.push(message);
    } else {
      at = skipValue(text, at);
      into.push(null);
    }
    at = skipSpace(text, at);
    if (text.charCodeAt(at) !== COMMA) return at + 1;
    at = skipSpace(text, at + 1);
  }
}

function walkMessage(text: string, open: number, message: MessageSpans): number {
  return walkObject(text, open, message.names, (name, valueStart) => {
    if (name === "headers" && text.charCodeAt(valueStart) === OPEN_BRACE) {
      return walkObject(text, valueStart, message.headerNames, (_, start) => skipValue(text, start));
    }
    const end = skipValue(text, valueStart);
    if (name === "body") {
      message.bodyStart = valueStart;
      message.bodyEnd = end;
    }
    return end;
  });
}

/** Calls `visit` for each name with the place of its value; `visit` returns the end of the value. */
function walkObject(
  text: string,
  open: number,
  names: string[],
  visit: (name: string, valueStart: number) => number,
): number {
  let at = skipSpace(text, open + 1);
  if (text.charCodeAt(at) === CLOSE_BRACE) return at + 1;
  while (at < text.length) {
    const nameEnd = skipString(text, at);
    const name = readName(text, at, nameEnd);
    if (names.length <= MAX_NAMES) names.push(name);
    const colon = skipSpace(text, nameEnd);
    at = skipSpace(text, visit(name, skipSpace(text, colon + 1)));
    if (text.charCodeAt(at) !== COMMA) return at + 1;
    at = skipSpace(text, at + 1);
  }
  return at;
}

/** A name may be written with escapes: `"\u0062ody"` is `body`. */
function readName(text: string, start: number, end: number): string {
  const source = text.slice(start + 1, end - 1);
  return source.includes("\\") ? (JSON.parse(text.slice(start, end)) as string) : source;
}

function skipSpace(text: string, at: number): number {
  let i = at;
  for (;;) {
    const code = text.charCodeAt(i);
    if (code !== SPACE && code !== LINE_FEED && code !== CARRIAGE_RETURN && code !== TAB) return i;
    i++;
  }
}

/** `at` is the opening quote; returns the place after the closing one. */
function skipString(text: string, at: number): number {
  let quote = text.indexOf('"', at + 1);
  while (quote > 0 && isEscaped(text, quote)) quote = text.indexOf('"', quote + 1);
  // -1 cannot happen in valid JSON; a scanner that were wrong must end all the same.
  return quote < 0 ? text.length : quote + 1;
}

/** Preceded by an odd number of backslashes. A string's opening quote bounds the walk back. */
function isEscaped(text: string, quote: number): boolean {
  let i = quote - 1;
  while (text.charCodeAt(i) === BACKSLASH) i--;
  return (quote - i) % 2 === 0;
}

function skipValue(text: string, at: number): number {
  const code = text.charCodeAt(at);
  if (code === QUOTE) return skipString(text, at);
  if (code === OPEN_BRACE || code === OPEN_BRACKET) return skipNested(text, at);
  return skipScalar(text, at);
}

/** Numbers, `true`, `false`, `null`: up to what cannot be part of one. */
function skipScalar(text: string, at: number): number {
  let i = at;
  while (i < text.length) {
    const code = text.charCodeAt(i);
    if (code === COMMA || code === CLOSE_BRACE || code === CLOSE_BRACKET || code <= SPACE) return i;
    i++;
  }
  return i;
}

/** An object or array: in valid JSON it ends where as many brackets have closed as opened. */
function skipNested(text: string, at: number): number {
  let depth = 0;
  let i = at;
  while (i < text.length) {
    const code = text.charCodeAt(i);
    if (code === QUOTE) {
      i = skipString(text, i);
      continue;
    }
    i++;
    if (code === OPEN_BRACE || code === OPEN_BRACKET) depth++;
    else if ((code === CLOSE_BRACE || code === CLOSE_BRACKET) && --depth === 0) return i;
  }
  return i;
}

const TAB = 0x09;
const LINE_FEED = 0x0a;
const CARRIAGE_RETURN = 0x0d;
const SPACE = 0x20;
const QUOTE = 0x22;
const COMMA = 0x2c;
const OPEN_BRACKET = 0x5b;
const BACKSLASH = 0x5c;
const CLOSE_BRACKET = 0x5d;
const OPEN_BRACE = 0x7b;
const CLOSE_BRACE = 0x7d;
