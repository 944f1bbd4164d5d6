import { PREVIEW_BYTES } from "./preview.ts";

type Fetch = (url: string, init: RequestInit) => Promise<Response>;

/** Replies kept at once; each is taken right after it came. */
const MAX_KEPT = 4;
/** As the server writes it. Within a string the quotes would be escaped. */
const BODY_START = /"bodyBytes":([0-9]+),"body":/;

/** The beginning of a JSON body, byte for byte as it was published. */
export interface BodySource {
  /** One byte more than a preview shows, where there are more. */
  start: Uint8Array;
  bodyBytes: number;
}

/**
 * Keeps the text of the messages that come by, until they are asked for: a JSON body is shown as it was published, and
 * its parsed value has lost large integers, `1.0`, repeated names and the layout.
 */
export class MessageSource {
  private readonly texts = new Map<string, Promise<string>>();
  private readonly inner: Fetch;

  constructor(inner: Fetch) {
    this.inner = inner;
  }

  /** For the client. */
  readonly fetch: Fetch = async (url, init) => {
    const response = await this.inner(url, init);
    const { pathname, searchParams } = new URL(url);
    const offset = searchParams.get("offset");
    if (offset === null || !pathname.endsWith("/message") || !response.ok) return response;
    for (const kept of [...this.texts.keys()].slice(0, -MAX_KEPT + 1)) this.texts.delete(kept);
    const text = response.clone().text();
    // Whoever asks for it sees the failure; nobody may.
    text.catch(() => {});
    this.texts.set(offset, text);
    return response;
  };

  /** Of the message that was read last at this offset; null: it has no JSON body. Forgets it. */
  async take(offset: number): Promise<BodySource | null> {
    const text = await this.texts.get(String(offset));
    this.texts.delete(String(offset));
    return text === undefined ? null : bodySource(text);
  }
}

function bodySource(text: string): BodySource | null {
  const found = BODY_START.exec(text);
  if (found === null) return null;
  const bodyBytes = Number(found[1]);
  const start = found.index + found[0].length;
  // A UTF-16 unit has at least one byte in UTF-8; one that the cut halves is behind what is shown.
  const bytes = new TextEncoder().encode(text.slice(start, start + PREVIEW_BYTES + 1));
  return { start: bytes.subarray(0, Math.min(bodyBytes, PREVIEW_BYTES + 1)), bodyBytes };
}
