import {
  type Fairlane,
  FairlaneApiError,
  type NewMessage,
  NotSentError,
  PublishError,
  type PublishOutcome,
} from "../client/fairlane.ts";
import { MAX_BATCH_MESSAGES, MAX_BODY_BYTES } from "../core/limits.ts";
import { CliError, usageError } from "./cli-error.ts";
import type { PublishFlags } from "./commands/publish.ts";
import { EXIT } from "./exit-codes.ts";
import { counted } from "./figures.ts";
import { type InputLine, inputLines } from "./input-lines.ts";
import { LineProblem, lineMessage } from "./line-message.ts";
import { OutputClosed } from "./output.ts";
import type { Run } from "./run.ts";

/** A body of full size in base64, and what stands around it. */
const MAX_LINE_BYTES = 2 * MAX_BODY_BYTES;
/**
 * Of one batch: so few that it is one request whatever stands around the lines. A request that is refused stores
 * nothing, and then its lines can be sent one by one in their order.
 */
const MAX_BATCH_LINE_BYTES = 2 * MAX_BODY_BYTES;
/** Many messages wait for one answer: a server that restarts meanwhile should not stop them. */
const RETRY_FOR_MS = 30_000;
const TEXT_CONTENT_TYPE = "text/plain; charset=utf-8";

/** A line that can be sent. */
interface Entry {
  line: number;
  message: NewMessage;
  bytes: number;
}

/** Publishes a message for each line, in order. Throws after all others are done where some were refused. */
export async function publishLines(
  run: Run,
  topic: string,
  flags: PublishFlags,
  input: AsyncIterable<Buffer>,
): Promise<void> {
  checkFlags(flags);
  const stream = input as AsyncIterable<Buffer> & { destroy?: (error: unknown) => void };
  // Whoever waits for the next line waits for ever otherwise.
  run.signal.addEventListener("abort", () => stream.destroy?.(run.signal.reason), { once: true });
  const publisher = new LinePublisher(run, topic);
  try {
    for await (const lines of inputLines(input, MAX_LINE_BYTES)) {
      for (const batch of batchesOf(await publisher.entries(lines, flags))) {
        run.signal.throwIfAborted();
        await publisher.publish(batch);
      }
    }
  } catch (error) {
    run.out.note(`${publisher.summary()}; stopped ${publisher.place()}`);
    throw error;
  }
  publisher.report();
}

function checkFlags(flags: PublishFlags): void {
  if (flags.lines && flags.rawLines) throw usageError("give --lines or --raw-lines");
  if (flags.body !== undefined) throw usageError("--body does not go together with lines");
  if (flags.id !== undefined)
    throw usageError("--id would be the ID of every line", "write it into the lines");
  if (flags.lines && flags.contentType !== undefined) {
    throw usageError(
      "--content-type does not go together with --lines",
      "write it beside a line's bodyBase64",
    );
  }
}

function* batchesOf(entries: readonly Entry[]): Generator<Entry[]> {
  let batch: Entry[] = [];
  let bytes = 0;
  for (const entry of entries) {
    if (
      batch.length > 0 &&
      (batch.length >= MAX_BATCH_MESSAGES || bytes + entry.bytes > MAX_BATCH_LINE_BYTES)
    ) {
      yield batch;
      batch = [];
      bytes = 0;
    }
    batch.push(entry);
    bytes += entry.bytes;
  }
  if (batch.length > 0) yield batch;
}

class LinePublisher {
  readonly #run: Run;
  readonly #topic: string;
  readonly #fairlane: Fairlane;
  #published = 0;
  #duplicates = 0;
  #refused = 0;
  #isHeard = true;
  /** Everything up to it is stored, or was reported as refused. */
  #doneThrough = 0;
  /** Of the batch whose outcome is not known. */
  #unknownThrough: number | null = null;

  constructor(run: Run, topic: string) {
    this.#run = run;
    this.#topic = topic;
    this.#fairlane = run.connect(RETRY_FOR_MS);
  }

  /** Lines that can be messages; the others are reported. */
  async entries(lines: readonly InputLine[], flags: PublishFlags): Promise<Entry[]> {
    const entries: Entry[] = [];
    for (const { number, bytes } of lines) {
      try {
        if (bytes === null) throw new LineProblem(`has over ${MAX_LINE_BYTES} bytes`);
        if (!flags.rawLines && isBlank(bytes)) continue;
        entries.push({ line: number, message: messageOf(bytes, flags), bytes: bytes.length });
      } catch (error) {
        if (!(error instanceof LineProblem)) throw error;
        await this.#refuse(number, error.message);
      }
    }
    return entries;
  }

  /** Throws what stops the whole: anything that is not a message's own fault. */
  async publish(batch: readonly Entry[]): Promise<void> {
    let rest = batch;
    while (rest.length > 0) rest = rest.slice(await this.#publishSome(rest));
    this.#run.out.progress(`published ${this.#published} …`);
  }

  /** Answers how many are done, one at least: nothing is sent behind a message that cannot be sent. */
  async #publishSome(batch: readonly Entry[]): Promise<number> {
    for (const [index, outcome] of (await this.#send(batch)).entries()) {
      const entry = batch[index] as Entry;
      const { error } = outcome;
      if (error === undefined) await this.#accept(entry, outcome);
      else if (isOwnFault(error)) await this.#sendAlone(entry, error, batch.length);
      else if (index > 0 && error instanceof NotSentError && isOwnFault(error.cause)) return index;
      else {
        this.#unknownThrough = error instanceof NotSentError ? null : (batch.at(-1)?.line ?? null);
        throw error;
      }
      this.#doneThrough = entry.line;
    }
    return batch.length;
  }

  async #send(batch: readonly Entry[]): Promise<readonly PublishOutcome[]> {
    try {
      return await this.#fairlane.publishBatch(
        this.#topic,
        batch.map(({ message }) => message),
      );
    } catch (error) {
      if (error instanceof PublishError) return error.results;
      throw error;
    }
  }

  /** A request is stored whole or not at all: of its lines only those that are wrong may be refused. */
  async #sendAlone(entry: Entry, error: Error, batchSize: number): Promise<void> {
    let own = error;
    if (batchSize > 1 && error instanceof FairlaneApiError) {
      const [outcome] = await this.#send([entry]);
      if (outcome?.error === undefined)
        return this.#accept(entry, outcome as PublishOutcome & { id: string });
      if (!isOwnFault(outcome.error)) {
        this.#unknownThrough = entry.line;
        throw outcome.error;
      }
      own = outcome.error;
    }
    await this.#refuse(entry.line, reasonOf(own));
  }

  async #accept(entry: Entry, outcome: PublishOutcome): Promise<void> {
    if (outcome.error !== undefined) return;
    if (outcome.duplicate) this.#duplicates += 1;
    else this.#published += 1;
    if (this.#run.out.json) await this.#tell({ line: entry.line, ...outcome });
  }

  async #refuse(line: number, reason: string): Promise<void> {
    this.#refused += 1;
    if (this.#run.out.json) await this.#tell({ line, error: reason });
    else this.#run.out.warn(`line ${line} ${reason}`);
  }

  /** That nobody reads the results any more is no reason to publish half of the lines. */
  async #tell(result: object): Promise<void> {
    if (!this.#isHeard) return;
    try {
      await this.#run.out.document(JSON.stringify(result));
    } catch (error) {
      if (!(error instanceof OutputClosed)) throw error;
      this.#isHeard = false;
    }
  }

  /** What was done so far. */
  summary(): string {
    const duplicates = this.#duplicates > 0 ? `, ${counted(this.#duplicates, "duplicate")}` : "";
    const refused = this.#refused > 0 ? `, ${counted(this.#refused, "line")} refused` : "";
    return `published ${counted(this.#published, "message")}${duplicates}${refused}`;
  }

  /** Where it stopped, so that somebody can go on there. */
  place(): string {
    const behind = this.#doneThrough === 0 ? "at the first line" : `behind line ${this.#doneThrough}`;
    if (this.#unknownThrough === null) return `${behind}: nothing after that was sent`;
    return `${behind}: whether lines up to ${this.#unknownThrough} are stored is not known, nothing after that was sent`;
  }

  /** Throws where lines were refused. */
  report(): void {
    if (this.#refused > 0) {
      throw new CliError(this.summary(), EXIT.failed, "mend the refused lines and publish them again");
    }
    this.#run.out.note(this.summary());
  }
}

function isBlank(bytes: Uint8Array): boolean {
  return bytes.every((byte) => byte === 0x20 || byte === 0x09);
}

function messageOf(bytes: Uint8Array, flags: PublishFlags): NewMessage {
  if (!flags.rawLines) return lineMessage(bytes, flags);
  const { key, header, delay, contentType = TEXT_CONTENT_TYPE } = flags;
  return {
    ...(key === undefined ? {} : { partitionKey: key }),
    ...(header === undefined ? {} : { headers: { ...header } }),
    ...(delay === undefined ? {} : { delayMs: delay }),
    bytes,
    contentType,
  };
}

/** The message cannot be stored as it is, whenever it is sent. */
function isOwnFault(error: unknown): boolean {
  if (error instanceof FairlaneApiError)
    return error.status === 413 || (error.status === 400 && aboutMessages(error));
  return error instanceof TypeError || error instanceof RangeError;
}

/** A topic that refuses every message is no fault of one of them. */
function aboutMessages(error: FairlaneApiError): boolean {
  return error.issues.some(({ path }) => path.startsWith("messages"));
}

function reasonOf(error: Error): string {
  if (!(error instanceof FairlaneApiError))
    return `cannot be sent: ${error.message.replace(/^messages\[[0-9]+\]\.?/, "").replace(/^bodyText/, "body")}`;
  const [issue] = error.issues;
  if (issue === undefined) return `was refused: ${error.detail}`;
  return `was refused: ${issue.path.replace(/^messages\[[0-9]+\]\.?/, "")} ${issue.message}`;
}
