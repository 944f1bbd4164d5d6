import { MAX_BATCH_BODY_BYTES, MAX_BATCH_MESSAGES, MAX_REQUEST_BYTES } from "../core/limits.ts";
import { type EncodedMessage, encodeMessage } from "./encode-message.ts";
import { FairlaneApiError, NotSentError, PublishError, type PublishOutcome } from "./errors.ts";
import { type HttpCaller, listOf } from "./http-caller.ts";
import type { NewMessage, PublishResult } from "./message.ts";
import { unexpected } from "./read-reply.ts";
import { makeUuid } from "./surroundings.ts";

const OPEN = '{"messages":[';
const CLOSE = "]}";

/** Messages of one request, with their places in the batch. */
interface Chunk {
  places: number[];
  texts: string[];
  bodyBytes: number;
  textBytes: number;
}

/** Publishes to one topic. Every message has an ID before it is first sent, so that a retry stores it once. */
export class Publisher {
  private readonly caller: HttpCaller;
  private readonly path: string;

  /** @param path of the topic's messages */
  constructor(caller: HttpCaller, path: string) {
    this.caller = caller;
    this.path = path;
  }

  async publish(message: NewMessage, signal: AbortSignal | undefined): Promise<PublishResult> {
    const chunk = emptyChunk();
    add(chunk, 0, encodeMessage(message, "", this.makeId));
    const [result] = await this.send(chunk, signal);
    return result as PublishResult;
  }

  /**
   * Chunks go one after the other, and nothing is sent after the first failure: what is stored is the beginning of the
   * batch, so that publishing the rest once more keeps the order within a partition.
   */
  async publishBatch(
    messages: Iterable<NewMessage>,
    signal: AbortSignal | undefined,
  ): Promise<PublishResult[]> {
    const batch = new Batch((chunk) => this.send(chunk, signal));
    for (const message of messages) {
      if (batch.stoppedBy !== null && !Array.isArray(messages)) break;
      await batch.add(message, this.makeId);
    }
    return batch.finish();
  }

  private async send(chunk: Chunk, signal: AbortSignal | undefined): Promise<PublishResult[]> {
    const body = OPEN + chunk.texts.join(",") + CLOSE;
    const answer = await this.caller.call({ method: "POST", path: this.path, body, signal, retry: "safe" });
    const results = listOf<PublishResult>(answer, "messages");
    if (results.length !== chunk.places.length) {
      throw unexpected(answer.response, "the reply does not have one result for each message");
    }
    return results;
  }

  private readonly makeId = (): string => makeUuid(this.caller.surroundings);
}

/** A batch on its way: one chunk is filled while the ones before it are done. */
class Batch {
  /** The failure after which nothing is sent any more. */
  stoppedBy: unknown = null;
  private readonly send: (chunk: Chunk) => Promise<PublishResult[]>;
  /** null: not sent. */
  private readonly outcomes: (PublishOutcome | null)[] = [];
  private chunk = emptyChunk();

  constructor(send: (chunk: Chunk) => Promise<PublishResult[]>) {
    this.send = send;
  }

  async add(message: NewMessage, makeId: () => string): Promise<void> {
    const place = this.outcomes.length;
    this.outcomes.push(null);
    if (this.stoppedBy !== null) return;
    let encoded: EncodedMessage;
    try {
      encoded = encodeMessage(message, `messages[${place}]`, makeId);
    } catch (error) {
      await this.flush();
      if (this.stoppedBy === null) this.stop([place], error);
      return;
    }
    if (!fits(this.chunk, encoded)) await this.flush();
    if (this.stoppedBy === null) add(this.chunk, place, encoded);
  }

  /** Throws `PublishError` unless all are stored. */
  async finish(): Promise<PublishResult[]> {
    await this.flush();
    if (this.stoppedBy === null) return this.outcomes as PublishResult[];
    const notSent = new NotSentError(this.stoppedBy);
    throw new PublishError(this.outcomes.map((outcome) => outcome ?? { error: notSent }));
  }

  private async flush(): Promise<void> {
    const { chunk } = this;
    this.chunk = emptyChunk();
    if (chunk.places.length === 0) return;
    try {
      const results = await this.send(chunk);
      for (const [i, place] of chunk.places.entries()) this.outcomes[place] = results[i] as PublishResult;
    } catch (error) {
      const isContent = error instanceof FairlaneApiError && (error.status === 400 || error.status === 413);
      // An abort and a token function's own error are no outcome of a message.
      if (!isContent && !isOfTheCall(error)) throw error;
      this.stop(chunk.places, isContent ? inBatchPlaces(error, chunk.places) : error);
    }
  }

  private stop(places: readonly number[], error: unknown): void {
    this.stoppedBy = error;
    const shown = error instanceof Error ? error : new Error("not stored", { cause: error });
    for (const place of places) this.outcomes[place] = { error: shown };
  }
}

function isOfTheCall(error: unknown): boolean {
  return (
    error instanceof Error && (error.name === "FairlaneApiError" || error.name === "FairlaneNetworkError")
  );
}

/** The server counts from the chunk's beginning, the caller from the batch's. */
function inBatchPlaces(error: FairlaneApiError, places: readonly number[]): FairlaneApiError {
  const issues = error.issues.map(({ path, message }) => {
    const moved = path.replace(/^messages\[([0-9]{1,3})\]/, (whole, index: string) => {
      const place = places[Number(index)];
      return place === undefined ? whole : `messages[${place}]`;
    });
    return { path: moved, message };
  });
  const { code, status, detail, requestId, retryAfterMs } = error;
  return new FairlaneApiError({ code, status, detail, issues, requestId, retryAfterMs });
}

function emptyChunk(): Chunk {
  return { places: [], texts: [], bodyBytes: 0, textBytes: OPEN.length + CLOSE.length };
}

function fits(chunk: Chunk, { bodyBytes, textBytes }: EncodedMessage): boolean {
  if (chunk.places.length === 0) return true;
  return (
    chunk.places.length < MAX_BATCH_MESSAGES &&
    chunk.bodyBytes + bodyBytes <= MAX_BATCH_BODY_BYTES &&
    // And a comma.
    chunk.textBytes + textBytes + 1 <= MAX_REQUEST_BYTES
  );
}

function add(chunk: Chunk, place: number, { text, bodyBytes, textBytes }: EncodedMessage): void {
  chunk.places.push(place);
  chunk.texts.push(text);
  chunk.bodyBytes += bodyBytes;
  chunk.textBytes += textBytes + 1;
}
