import { createReadStream } from "node:fs";
import { resolve } from "node:path";
import type { Command } from "commander";
import type { NewMessage } from "../../client/fairlane.ts";
import { MAX_BODY_BYTES, MAX_DELAY_MS } from "../../core/limits.ts";
import { publishedKeyProblem } from "../../core/names.ts";
import { type Cli, unlessAborted } from "../cli.ts";
import { CliError, usageError } from "../cli-error.ts";
import { durationFlag } from "../durations.ts";
import { EXIT } from "../exit-codes.ts";
import { collectHeader } from "../flag-values.ts";
import { idFlag } from "../name-flags.ts";
import { publishLines } from "../publish-lines.ts";
import { readToEnd } from "../read-input.ts";
import type { Run } from "../run.ts";

export interface PublishFlags {
  id?: string;
  key?: string;
  header?: Record<string, string>;
  delay?: number;
  contentType?: string;
  body?: string;
  file?: string;
  lines?: boolean;
  rawLines?: boolean;
}

const JSON_CONTENT_TYPE = /^application\/json\s*(;.*)?$/i;

/** Publishes one message, or a message for each line. */
export function publish(cli: Cli): Command {
  return cli
    .command("publish <topic>", {
      summary: "publish a message, or one for each line of stdin",
      about:
        "The body is JSON unless --content-type names something else: then its bytes are kept as they are. It comes from " +
        "--body, --file, or stdin. The same --id and --key again store nothing, so a command that failed can be repeated.\n\n" +
        "With --lines each line of stdin is a message: {id?, partitionKey?, body | bodyBase64, contentType?, headers?, " +
        "delayMs?}; flags stand in for what a line does not say. Lines are published in order, in batches. A line that " +
        "cannot be a message is reported with its number and the others go on; where the server fails, the first line that " +
        "is not surely stored is named, and nothing behind it is sent. Lines with IDs can be published again safely.",
      examples: [
        [`publish orders --key order-1 --id order-1/created --body '{"total": 42.0}'`, "one message"],
        ["publish images --key cat --content-type image/png --file cat.png", "bytes"],
        [`echo '"hello"' | fairlane publish greetings --delay 10s`, "from stdin, due in ten seconds"],
        ["publish orders --lines < orders.jsonl", "many of them"],
        ["publish logs --raw-lines --key web-1 < access.log", "each line a body, as text"],
      ],
    })
    .option("--id <id>", "message ID; one is made if absent", idFlag)
    .option("--key <key>", "partition key: messages of one are in order", publishedKeyFlag)
    .option("--header <name=value>", "a header; may be repeated", collectHeader)
    .option("--delay <duration>", "not before this time has passed, at most 7d", delayFlag)
    .option("--content-type <type>", "publish bytes of this type instead of JSON")
    .option("--body <json>", "the body")
    .option("--file <path>", "the file that holds the body")
    .option("--lines", "each line of stdin (or --file) is a message in JSON")
    .option("--raw-lines", "each line of stdin (or --file) is the body of a message, as text")
    .action(
      // Lines end in order at an interruption: the batch under way is finished, and reported.
      cli.endingAction<PublishFlags>(async (run, [topic = ""], flags) => {
        if (flags.lines || flags.rawLines) return publishLines(run, topic, flags, inputOf(run, flags));
        const bytes = await unlessAborted(run.signal, bodyBytes(run, flags));
        const message = messageOf(flags, bodyOf(bytes, flags.contentType));
        const result = await run.fairlane.publish(topic, message, { signal: run.signal });
        await run.out.done({ messages: [result] }, sentence(run, topic, result));
      }),
    );
}

function sentence(
  run: Run,
  topic: string,
  result: { id: string; partitionKey: string; duplicate: boolean },
): string {
  const what = `${run.out.name(result.id)} in partition ${run.out.name(result.partitionKey)} of ${topic}`;
  return result.duplicate ? `duplicate: ${what} was there already` : `published ${what}`;
}

function publishedKeyFlag(text: string): string {
  const problem = publishedKeyProblem(text);
  if (problem !== null) throw usageError(`--key ${problem}`);
  return text;
}

function delayFlag(text: string): number {
  const ms = durationFlag(text);
  if (ms > MAX_DELAY_MS) throw usageError("--delay must be at most 7d");
  return ms;
}

/** The message of the flags, with this body. */
export function messageOf(
  flags: PublishFlags,
  body: Pick<NewMessage, "bodyText" | "bytes" | "contentType">,
): NewMessage {
  return {
    ...(flags.id === undefined ? {} : { id: flags.id }),
    ...(flags.key === undefined ? {} : { partitionKey: flags.key }),
    ...(flags.header === undefined ? {} : { headers: { ...flags.header } }),
    ...(flags.delay === undefined ? {} : { delayMs: flags.delay }),
    ...body,
  } as NewMessage;
}

async function bodyBytes(run: Run, flags: PublishFlags): Promise<Uint8Array> {
  if (flags.body !== undefined) {
    if (flags.file !== undefined) throw usageError("give --body or --file");
    return Buffer.from(flags.body, "utf8");
  }
  if (flags.file === undefined && run.shell.stdin.isTTY) {
    throw usageError("there is no body", "give one with --body or --file, or on stdin");
  }
  return readToEnd(inputOf(run, flags), MAX_BODY_BYTES);
}

/** The file, or stdin. */
function inputOf({ shell }: Run, { file }: PublishFlags): AsyncIterable<Buffer> {
  if (file === undefined || file === "-") return shell.stdin as AsyncIterable<Buffer>;
  return fileOrRefusal(resolve(shell.cwd, file), file);
}

async function* fileOrRefusal(path: string, named: string): AsyncGenerator<Buffer> {
  try {
    yield* createReadStream(path) as AsyncIterable<Buffer>;
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === undefined) throw error;
    throw new CliError(`${named} cannot be read (${code})`, EXIT.usage);
  }
}

function bodyOf(
  bytes: Uint8Array,
  contentType: string | undefined,
): Pick<NewMessage, "bodyText" | "bytes" | "contentType"> {
  if (contentType !== undefined && !JSON_CONTENT_TYPE.test(contentType)) return { bytes, contentType };
  if (bytes.length === 0) throw usageError("the body is empty", "give one with --body, --file or stdin");
  try {
    const bodyText = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes);
    JSON.parse(bodyText);
    return { bodyText };
  } catch {
    // Neither the decoder's nor the parser's own words: they quote the body.
    throw usageError(
      "the body is not JSON",
      `a text is written with quotes, as in --body '"hello"'; to publish bytes as they are, name their --content-type`,
    );
  }
}
