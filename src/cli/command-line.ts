import { type Command, CommanderError } from "commander";
import { FairlaneApiError } from "../client/fairlane.ts";
import { Cli } from "./cli.ts";
import { usageError } from "./cli-error.ts";
import { EXIT, type ExitCode } from "./exit-codes.ts";
import { reportFailure, reportJson, reportText } from "./failure-report.ts";
import { interruptSignal } from "./interrupts.ts";
import { Output, OutputClosed } from "./output.ts";
import { programOf } from "./program.ts";
import type { Run } from "./run.ts";
import { type Shell, shellOf } from "./shell.ts";
import { similarNames } from "./similar-names.ts";

/** Runs the command line that the process was started with, and answers how it is to end. Never throws. */
export async function run(running: NodeJS.Process): Promise<ExitCode> {
  let commandLine: CommandLine | null = null;
  const interrupted = interruptSignal(running, () => commandLine?.endAtOnce());
  commandLine = new CommandLine(shellOf(running), interrupted);
  return commandLine.run(running.argv.slice(2));
}

/** The command line of one process. */
export class CommandLine {
  readonly #shell: Shell;
  readonly #cli: Cli;
  /** Where to read on after wrong usage. */
  #help = "";

  constructor(shell: Shell, interrupted: AbortSignal) {
    this.#shell = shell;
    this.#cli = new Cli(shell, interrupted);
  }

  /** What runs and may not wait, ends. */
  endAtOnce(): void {
    for (const end of this.#cli.run?.endings ?? []) end();
  }

  /** `argv` is without the program's own name. */
  async run(argv: readonly string[]): Promise<ExitCode> {
    const program = programOf(this.#cli);
    this.#help = `${namedCommand(program, argv)} --help`;
    configure(program, this.#shell);
    try {
      if (argv.length === 0) program.help();
      await program.parseAsync(argv, { from: "user" });
      return EXIT.done;
    } catch (error) {
      // Nobody reads on: that is how a pipe ends.
      if (error instanceof OutputClosed) return EXIT.done;
      if (error instanceof CommanderError && error.exitCode === 0) return EXIT.done;
      return this.#fail(error, argv);
    }
  }

  async #fail(error: unknown, argv: readonly string[]): Promise<ExitCode> {
    const run = this.#cli.run;
    const out = run?.out ?? new Output(this.#shell, { json: asksForJson(argv), quiet: false });
    const target = run?.knownTarget ?? null;
    const report = reportFailure(this.#inOurWords(error), target, this.#shell.nowMs());
    if (run && error instanceof FairlaneApiError && error.code === "not-found") {
      report.hint ??= await similarTo(run);
    }
    // Whoever pressed Ctrl-C knows.
    if (out.json || report.exitCode !== EXIT.interrupted) out.failure(reportJson(report), reportText(report));
    return report.exitCode;
  }

  #inOurWords(error: unknown): unknown {
    if (!(error instanceof CommanderError)) return error;
    return usageError(error.message.replace(/^error: /, "").replaceAll("\n", " "), `see: ${this.#help}`);
  }
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

/** The command that the arguments name, as far as they name one. */
function namedCommand(program: Command, argv: readonly string[]): string {
  const names = [program.name()];
  let command = program;
  for (const word of argv) {
    const sub = command.commands.find((one) => one.name() === word);
    if (!sub) continue;
    names.push(word);
    command = sub;
  }
  return names.join(" ");
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
    if (known.includes(group)) return null;
    const names = similarNames(group, known);
    return names.length > 0
      ? `did you mean the group ${names.join(", or ")}?`
      : `see: fairlane groups ${topic}`;
  } catch {
    // A token that may not list, or a server that is gone: the failure itself is said, only the hint is not.
    return null;
  }
}
