import { type ChildProcess, spawn } from "node:child_process";
import { accessSync, constants, statSync } from "node:fs";
import { delimiter, join } from "node:path";
import type { Message } from "../client/fairlane.ts";
import { usageError } from "./cli-error.ts";
import type { Handle, Handled } from "./commands/consume.ts";
import { bodyOfDelivery } from "./delivery-text.ts";
import type { Run } from "./run.ts";

/** EX_TEMPFAIL of sysexits.h: not now. */
const POSTPONE_CODE = 75;
/** Of a program's stderr, to find its last line in. */
const MAX_KEPT_BYTES = 4096;
/** After a program's end its stderr is read for so long. */
const LAST_OUTPUT_MS = 200;
/** From the friendly signal to the other one. */
const KILL_AFTER_MS = 2000;

/** A text goes to the shell; a list is a program and its arguments. */
export type Program = string | readonly string[];

/** Runs a program for each message. Throws a CliError where there is no such program: no message is to suffer for it. */
export function programRunner(
  run: Run,
  program: Program,
  { postpone, ...place }: { group: string; route?: string | undefined; postpone: number },
): Handle {
  if (typeof program !== "string") checkProgram(run, program[0] ?? "");
  return async (message) => {
    const running = runOnce(run, program, message, place);
    run.programs.add(running);
    const ended = await running.finally(() => run.programs.delete(running));
    // That it was ended by us is no fault of its message's.
    const handled = message.signal.aborted ? GIVEN_BACK : handledBy(ended, postpone);
    if (run.out.json) await run.out.document(JSON.stringify(reportOf(message, ended, handled)));
    return handled;
  };
}

const GIVEN_BACK: Handled = { kind: "give-back" };

interface Ended {
  code: number | null;
  signal: NodeJS.Signals | null;
  lastLine: string;
}

function handledBy({ code, signal, lastLine }: Ended, postponeMs: number): Handled {
  if (code === 0) return { kind: "ack" };
  if (code === POSTPONE_CODE) return { kind: "postpone", delayMs: postponeMs };
  const how = signal === null ? `exit code ${code}` : `ended by ${signal}`;
  return { kind: "nack", reason: lastLine === "" ? how : lastLine };
}

function reportOf(message: Message, { code, signal }: Ended, handled: Handled): object {
  const { id, topic, partitionKey, offset, attempt } = message;
  return {
    id,
    topic,
    partitionKey,
    offset,
    attempt,
    action: handled.kind,
    ...(handled.kind === "nack" ? { reason: handled.reason } : {}),
    ...(handled.kind === "postpone" ? { delayMs: handled.delayMs } : {}),
    exitCode: code,
    signal,
  };
}

/** Whose message it is. */
interface Receiver {
  group: string;
  route?: string | undefined;
}

function runOnce(run: Run, program: Program, message: Message, receiver: Receiver): Promise<Ended> {
  const body = bodyOfDelivery(message);
  const [file, args, shell] =
    typeof program === "string"
      ? ([program, [], true] as const)
      : ([program[0] as string, program.slice(1), false] as const);
  return new Promise((resolve, reject) => {
    const child = spawn(file, args, {
      cwd: run.shell.cwd,
      env: { ...run.shell.env, ...variablesOf(run, message, receiver) },
      shell,
      // stdout is for JSON lines then.
      stdio: ["pipe", run.out.json ? process.stderr : process.stdout, "pipe"],
      // Ctrl-C is for us: what runs may end.
      detached: true,
    });
    const end = () => endGroup(child, "SIGTERM");
    const kill = () => {
      end();
      late = setTimeout(() => endGroup(child, "SIGKILL"), KILL_AFTER_MS);
    };
    let late: NodeJS.Timeout | undefined;
    run.endings.add(end);
    message.signal.addEventListener("abort", kill, { once: true });
    const forget = () => {
      clearTimeout(late);
      run.endings.delete(end);
      message.signal.removeEventListener("abort", kill);
    };
    const lines = new LastLine();
    child.stderr?.on("data", (chunk: Buffer) => {
      lines.add(chunk);
      if (!run.out.quiet) process.stderr.write(chunk);
    });
    // A program that does not read its input is not wrong.
    child.stdin?.on("error", () => {});
    child.stdin?.end(body.bytes);
    child.once("error", (error) => {
      forget();
      reject(error);
    });
    child.once("exit", (code, signal) => {
      forget();
      void lastOutput(child).then(() => resolve({ code, signal, lastLine: lines.last }));
    });
  });
}

/** Resolves when all that it wrote is read. What it left running may hold its output open for as long as it likes. */
function lastOutput({ stderr }: ChildProcess): Promise<void> {
  return new Promise((resolve) => {
    if (!stderr || stderr.closed) return resolve();
    const late = setTimeout(resolve, LAST_OUTPUT_MS);
    stderr.once("close", () => {
      clearTimeout(late);
      resolve();
    });
  });
}

function variablesOf(run: Run, message: Message, { group, route }: Receiver): Record<string, string> {
  const { url, tenant } = run.target;
  return {
    FAIRLANE_URL: url,
    FAIRLANE_TENANT: tenant,
    FAIRLANE_TOPIC: message.topic,
    FAIRLANE_GROUP: group,
    ...(route === undefined ? {} : { FAIRLANE_ROUTE: route }),
    FAIRLANE_ID: message.id,
    FAIRLANE_PARTITION_KEY: message.partitionKey,
    FAIRLANE_OFFSET: String(message.offset),
    FAIRLANE_ATTEMPT: String(message.attempt),
    FAIRLANE_CONTENT_TYPE: message.contentType,
    FAIRLANE_HEADERS: JSON.stringify(message.headers),
    FAIRLANE_PUBLISHED_AT: String(message.publishedAt),
  };
}

/** The program, and what it started. */
export function endGroup(child: ChildProcess, signal: NodeJS.Signals): void {
  if (child.pid === undefined || child.exitCode !== null || child.signalCode !== null) return;
  try {
    process.kill(-child.pid, signal);
  } catch (error) {
    // It ended by itself meanwhile.
    if ((error as NodeJS.ErrnoException).code !== "ESRCH") throw error;
  }
}

/** The last line of a stream that says something; only the stream's end is kept. */
class LastLine {
  #kept = Buffer.alloc(0);

  add(chunk: Buffer): void {
    this.#kept = Buffer.concat([this.#kept, chunk]).subarray(-MAX_KEPT_BYTES);
  }

  get last(): string {
    const lines = this.#kept.toString("utf8").split(/\r?\n/);
    return lines.findLast((line: string) => line.trim() !== "")?.trim() ?? "";
  }
}

function checkProgram(run: Run, name: string): void {
  const folders = (run.shell.env.PATH ?? "").split(delimiter);
  const paths = name.includes("/") ? [join(name)] : folders.map((folder) => join(folder, name));
  if (!paths.some((path) => isProgram(path.startsWith("/") ? path : join(run.shell.cwd, path)))) {
    throw usageError(`there is no program ${name}`, "a shell's command goes into --exec");
  }
}

function isProgram(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return statSync(path).isFile();
  } catch {
    // Not there, or not for us: either way it cannot be run.
    return false;
  }
}
