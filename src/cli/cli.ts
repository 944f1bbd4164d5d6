import { type Argument, Command, Option } from "commander";
import { checkArgument } from "./name-flags.ts";
import { type CommonFlags, Run } from "./run.ts";
import type { Shell } from "./shell.ts";

/** A command's example, and what it does. */
export type Example = readonly [command: string, what: string];

export interface CommandWords {
  summary: string;
  /** What more there is to say about it. */
  about?: string;
  examples: readonly Example[];
}

type Handler<Flags> = (run: Run, names: string[], flags: Flags) => Promise<void>;

/** Makes commands that all take the common flags, and runs them. */
export class Cli {
  readonly shell: Shell;
  readonly interrupted: AbortSignal;
  /** The run under way, for whoever reports its failure. */
  run: Run | null = null;

  constructor(shell: Shell, interrupted: AbortSignal) {
    this.shell = shell;
    this.interrupted = interrupted;
  }

  /** `usage` is the name with its arguments, as in "lag <topic> <group>". */
  command(usage: string, { summary, about, examples }: CommandWords): Command {
    const [name = "", ...names] = usage.split(" ");
    const command = new Command(name)
      .summary(summary)
      .description(about ? `${sentence(summary)}\n\n${about}` : sentence(summary));
    for (const argument of names) command.argument(argument);
    return command.addHelpText("after", `\nExamples:\n${examplesText(examples)}`);
  }

  /** For `action`: ends with the interruption. */
  action<Flags = object>(handler: Handler<Flags>): (...given: unknown[]) => Promise<void> {
    return this.#action(handler, (run, work) => unlessAborted(run.signal, work));
  }

  /** For `action`: the handler itself sees to it that an interruption ends it in order. */
  endingAction<Flags = object>(handler: Handler<Flags>): (...given: unknown[]) => Promise<void> {
    return this.#action(handler, (_run, work) => work);
  }

  #action<Flags>(handler: Handler<Flags>, until: (run: Run, work: Promise<void>) => Promise<void>) {
    return async (...given: unknown[]): Promise<void> => {
      const command = given.pop() as Command;
      given.pop();
      const flags = command.optsWithGlobals() as CommonFlags & Flags;
      const run = new Run(this.shell, flags, this.interrupted);
      this.run = run;
      for (const [index, argument] of command.registeredArguments.entries()) {
        checkArgument(argument.name(), given[index]);
      }
      const names = given.flat().filter((name) => name !== undefined) as string[];
      run.names = names;
      await until(run, handler(run, names, flags));
    };
  }
}

/** Rejects with the signal's reason, when it aborts first. */
export function unlessAborted<T>(signal: AbortSignal, work: Promise<T>): Promise<T> {
  const aborted = new Promise<never>((_, reject) => {
    if (signal.aborted) reject(signal.reason);
    else signal.addEventListener("abort", () => reject(signal.reason), { once: true });
  });
  return Promise.race([work, aborted]);
}

/** For a command and all below it, behind their own flags. They may stand before a command as well as behind it. */
export function withCommonFlags(command: Command): Command {
  for (const sub of command.commands) withCommonFlags(sub);
  const group = "Common options:";
  const flags: [string, string][] = [
    ["--tenant <name>", "the tenant (FAIRLANE_TENANT)"],
    ["--url <url>", "the server (FAIRLANE_URL)"],
    ["--token <token>", "the access token (FAIRLANE_TOKEN)"],
    ["--profile <name>", "a saved server (FAIRLANE_PROFILE)"],
    ["--json", "print JSON, also for errors"],
    ["-q, --quiet", "print results only"],
  ];
  for (const [names, text] of flags) command.addOption(new Option(names, text).helpGroup(group));
  return command.helpOption("-h, --help", "show this").configureHelp({
    subcommandTerm: (sub) => [sub.name(), ...sub.registeredArguments.map(argumentTerm)].join(" "),
  });
}

/** An argument as a usage line shows it. */
export function argumentTerm(argument: Argument): string {
  const name = argument.variadic ? `${argument.name()}...` : argument.name();
  return argument.required ? `<${name}>` : `[${name}]`;
}

function sentence(summary: string): string {
  return `${summary.charAt(0).toUpperCase()}${summary.slice(1)}.`;
}

function examplesText(examples: readonly Example[]): string {
  return examples
    .map(([line, what]) => `  $ ${line.includes("fairlane ") ? line : `fairlane ${line}`}\n      ${what}`)
    .join("\n");
}
