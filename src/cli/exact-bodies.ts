import { MAX_RECEIVE_MESSAGES, MAX_REPLY_BYTES } from "../core/limits.ts";
import { scanPublishSpans } from "../protocol/json-spans.ts";

/** What the client takes for `fetch`. */
type Fetch = (url: string, init: RequestInit) => Promise<Response>;

/** As much as a consumer may have in hand: its concurrency, times the largest body. */
const MAX_KEPT_CHARS = 128 * 1024 * 1024;
const MAX_READ_BYTES = 2 * MAX_REPLY_BYTES;
const RECEIVE_START = '{"deliveries":[';

/**
 * Reads along what the client receives, and keeps the source text of each JSON body until it is asked for: the value
 * that the client makes of it has lost large integers, `1.0` and repeated names, and a program that a body is piped
 * into must get what was published.
 */
export class ExactBodies {
  /** By topic and offset, oldest first. */
  readonly #texts = new Map<string, string>();
  readonly #inner: Fetch;
  #keptChars = 0;

  constructor(inner: Fetch) {
    this.#inner = inner;
  }

  readonly fetch: Fetch = async (url, init) => {
    const response = await this.#inner(url, init);
    const { pathname } = new URL(url);
    const isReceive = pathname.endsWith("/receive");
    // A 204 has nothing to read, and may not be given a body.
    if (response.status !== 200 || !(isReceive || pathname.endsWith("/message"))) return response;
    const text = await readBounded(response);
    this.#keep(text, isReceive);
    return new Response(text, { status: response.status, headers: response.headers });
  };

  /** The body's source text, or null where it was published as bytes. It is forgotten then. */
  take(topic: string, offset: number): string | null {
    const key = keyOf(topic, offset);
    const text = this.#texts.get(key) ?? null;
    this.#drop(key);
    return text;
  }

  #keep(reply: string, isReceive: boolean): void {
    // Both replies are read as what a publish is made of: objects with a `body` in a list.
    if (isReceive && !reply.startsWith(RECEIVE_START)) return;
    const list = isReceive ? `{"messages":[${reply.slice(RECEIVE_START.length)}` : `{"messages":[${reply}]}`;
    const messages = messagesIn(list);
    const spans = scanPublishSpans(list, MAX_RECEIVE_MESSAGES).messages;
    for (const [index, { topic, offset }] of messages.entries()) {
      const span = spans[index];
      if (!span || span.bodyStart < 0) continue;
      const key = keyOf(topic, offset);
      this.#drop(key);
      this.#texts.set(key, list.slice(span.bodyStart, span.bodyEnd));
      this.#keptChars += span.bodyEnd - span.bodyStart;
    }
    for (const key of this.#texts.keys()) {
      if (this.#keptChars <= MAX_KEPT_CHARS) break;
      this.#drop(key);
    }
  }

  #drop(key: string): void {
    this.#keptChars -= this.#texts.get(key)?.length ?? 0;
    this.#texts.delete(key);
  }
}

function keyOf(topic: string, offset: number): string {
  return `${topic}/${offset}`;
}

function messagesIn(list: string): { topic: string; offset: number }[] {
  try {
    const { messages } = JSON.parse(list) as { messages?: unknown };
    return Array.isArray(messages) ? messages : [];
  } catch {
    // Not an answer of this API: the client says so.
    return [];
  }
}

async function readBounded(response: Response): Promise<string> {
  const reader = response.body?.getReader();
  if (!reader) return "";
  const decoder = new TextDecoder();
  let text = "";
  let bytes = 0;
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return text + decoder.decode();
    bytes += value.byteLength;
    if (bytes > MAX_READ_BYTES) {
      await reader.cancel();
      throw new Error(`a reply of over ${MAX_READ_BYTES} bytes`);
    }
    text += decoder.decode(value, { stream: true });
  }
}
