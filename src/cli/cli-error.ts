import { EXIT, type ExitCode } from "./exit-codes.ts";

/** A run that cannot go on, in words for its user: what is wrong, and what to do next. */
export class CliError extends Error {
  override readonly name = "CliError";
  readonly exitCode: ExitCode;
  readonly hint: string | null;

  constructor(message: string, exitCode: ExitCode, hint: string | null = null) {
    super(message);
    this.exitCode = exitCode;
    this.hint = hint;
  }
}

export function usageError(message: string, hint: string | null = null): CliError {
  return new CliError(message, EXIT.usage, hint);
}

/** A program that the run was for ended with another code than 0: so does the run, without a word of its own. */
export class ProgramEnded extends Error {
  override readonly name = "ProgramEnded";
  readonly exitCode: number;

  constructor(exitCode: number) {
    super(`the program ended with exit code ${exitCode}`);
    this.exitCode = exitCode;
  }
}
