/** What a run of the command line ends with. Scripts rely on these numbers; they only ever grow in number. */
export const EXIT = {
  done: 0,
  failed: 1,
  usage: 2,
  notFound: 3,
  notAllowed: 4,
  unavailable: 5,
  interrupted: 130,
} as const;

export type ExitCode = (typeof EXIT)[keyof typeof EXIT];

/** In words, for `--help`. */
const MEANINGS: readonly [ExitCode, string][] = [
  [EXIT.done, "done"],
  [EXIT.failed, "the server refused it, part of it failed, or a message was nacked"],
  [EXIT.usage, "wrong usage, or a question was not answered with yes: nothing was done"],
  [EXIT.notFound, "no such tenant, topic, group or message"],
  [EXIT.notAllowed, "the token is missing, not valid, or does not allow it"],
  [EXIT.unavailable, "no server answers, or it cannot serve now"],
  [EXIT.interrupted, "interrupted by Ctrl-C or another signal"],
];

export function exitCodesHelp(): string {
  const rows = MEANINGS.map(([code, meaning]) => `  ${String(code).padEnd(4)}  ${meaning}`);
  return `Exit codes:\n${rows.join("\n")}`;
}
