import { type Command, CommanderError } from "commander";
import { FairlaneApiError } from "../client/fairlane.ts";
import { argumentTerm, Cli } from "./cli.ts";
import { ProgramEnded, usageError } from "./cli-error.ts";
import { EXIT, type ExitCode } from "./exit-codes.ts";
import { reportFailure, reportJson, reportText } from "./failure-report.ts";
import { interruptSignal } from "./interrupts.ts";
import { Output, OutputClosed } from "./output.ts";
import { programOf } from "./program.ts";
import type { Run } from "./run.ts";
import { type Shell, shellOf } from "./shell.ts";
import { similarNames } from "./similar-names.ts";

/** Runs the command line that the process was started with, and answers how it is to end. Never throws. */
export async function run(running: NodeJS.Process): Promise<number> {
  let commandLine: CommandLine | null = null;
  const interrupted = interruptSignal(running, () => commandLine?.endAtOnce());
  commandLine = new CommandLine(shellOf(running), interrupted);
  return commandLine.run(running.argv.slice(2));
}

/** The command line of one process. */
export class CommandLine {
  readonly #shell: Shell;
  readonly #cli: Cli;
  /** What the arguments name. */
  #named: NamedCommand | null = null;

  constructor(shell: Shell, interrupted: AbortSignal) {
    this.#shell = shell;
    this.#cli = new Cli(shell, interrupted);
  }

  /** What runs and may not wait, ends. */
  endAtOnce(): void {
    for (const end of this.#cli.run?.endings ?? []) end();
  }

  /** `argv` is without the program's own name. */
  async run(argv: readonly string[]): Promise<number> {
    const program = programOf(this.#cli);
    this.#named = namedCommand(program, argv);
    configure(program, this.#shell);
    try {
      if (argv.length === 0) program.help();
      await program.parseAsync(argv, { from: "user" });
      return EXIT.done;
    } catch (error) {
      // Nobody reads on: that is how a pipe ends.
      if (error instanceof OutputClosed) return EXIT.done;
      if (error instanceof CommanderError && error.exitCode === 0) return EXIT.done;
      if (error instanceof ProgramEnded) return error.exitCode;
      return this.#fail(error, argv);
    }
  }

  async #fail(error: unknown, argv: readonly string[]): Promise<ExitCode> {
    const run = this.#cli.run;
    const out = run?.out ?? new Output(this.#shell, { json: asksForJson(argv), quiet: false });
    const failed = {
      target: run?.knownTarget ?? null,
      mayHaveChanged: run?.mayHaveChanged === true,
      route: run?.route ?? null,
    };
    const report = reportFailure(this.#inOurWords(error), failed, this.#shell.nowMs());
    if (run && error instanceof FairlaneApiError && error.code === "not-found") {
      report.hint ??= (await similarTo(run)) ?? (await rootHint(run));
    }
    // Whoever pressed Ctrl-C knows.
    if (out.json || report.exitCode !== EXIT.interrupted) out.failure(reportJson(report), reportText(report));
    return report.exitCode;
  }

  #inOurWords(error: unknown): unknown {
    if (!(error instanceof CommanderError)) return error;
    const { path = "fairlane", command = null } = this.#named ?? {};
    // A group of commands was named, and none of them.
    if (error.code === "commander.help") return usageError("which command?", `see: ${path} --help`);
    const missing = command && MISSING_CODES.has(error.code) ? missingOf(command) : [];
    if (missing.length > 1) {
      return usageError(`missing: ${missing.join(", ")}`, `usage: ${path} ${usageOf(command as Command)}`);
    }
    return usageError(error.message.replace(/^error: /, "").replaceAll("\n", " "), `see: ${path} --help`);
  }
}

/** Commander names only the first that it misses. */
const MISSING_CODES = new Set(["commander.missingArgument", "commander.missingMandatoryOptionValue"]);

function missingOf(command: Command): string[] {
  const absent = command.registeredArguments.filter(
    ({ required }, index) => required && command.args[index] === undefined,
  );
  const unset = command.options.filter(
    (option) => option.mandatory && command.getOptionValue(option.attributeName()) === undefined,
  );
  return [...absent.map((argument) => `<${argument.name()}>`), ...unset.map(({ flags }) => flags)];
}

function usageOf(command: Command): string {
  const needed = command.options.filter(({ mandatory }) => mandatory).map(({ flags }) => flags);
  return [...command.registeredArguments.map(argumentTerm), ...needed, "[options]"].join(" ");
}

/** Also of what stands below a command: an option that is wrong is reported like everything else. */
function configure(command: Command, shell: Shell): void {
  command.exitOverride().configureOutput({
    writeOut: (text) => shell.stdout.write(text),
    // It is reported by us, with our exit code, and as JSON where that is wanted.
    writeErr: () => {},
    outputError: () => {},
  });
  for (const sub of command.commands) configure(sub, shell);
}

interface NamedCommand {
  /** With those above it. */
  path: string;
  command: Command;
}

/** The command that the arguments name, as far as they name one. */
function namedCommand(program: Command, argv: readonly string[]): NamedCommand {
  const names = [program.name()];
  let command = program;
  for (const word of argv) {
    const sub = command.commands.find((one) => one.name() === word);
    if (!sub) continue;
    names.push(word);
    command = sub;
  }
  return { path: names.join(" "), command };
}

function asksForJson(argv: readonly string[]): boolean {
  const end = argv.indexOf("--");
  return argv.slice(0, end < 0 ? undefined : end).includes("--json");
}

/** Names that may have been meant by one that the server does not know. */
async function similarTo(run: Run): Promise<string | null> {
  const [topic, group] = run.names;
  if (topic === undefined) return null;
  try {
    const { topics } = await run.fairlane.admin.listTopics();
    if (!topics.includes(topic)) {
      const names = similarNames(topic, topics);
      if (names.length > 0) return `did you mean the topic ${names.join(", or ")}?`;
      return topics.length === 0 ? `tenant ${run.target.tenant} has no topic yet` : "see: fairlane topics";
    }
    if (group === undefined) return `see: fairlane messages ${topic}`;
    const { groups } = await run.fairlane.admin.getTopic(topic);
    const known = groups.map((one) => one.group);
    if (known.includes(group))
      return run.route === null ? null : `see: fairlane split list ${topic} ${group}`;
    const names = similarNames(group, known);
    return names.length > 0
      ? `did you mean the group ${names.join(", or ")}?`
      : `see: fairlane groups ${topic}`;
  } catch {
    // A token that may not list, or a server that is gone: the failure itself is said, only the hint is not.
    return null;
  }
}

/** A URL with a path is that of a server below it, or was copied from a page or a call. */
async function rootHint(run: Run): Promise<string | null> {
  const { url, urlFrom } = run.target;
  if (new URL(url).pathname === "/") return null;
  try {
    await run.fairlane.admin.health();
    return null;
  } catch {
    // Whatever is there, it is no server's root.
    return `the URL must be the server's root, like ${new URL(url).origin}; ${url} is from ${urlFrom}`;
  }
}
