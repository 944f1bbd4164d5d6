import { Fairlane, type Fetch } from "../client/fairlane.ts";
import { ask, canAsk } from "./ask.ts";
import { CliError, usageError } from "./cli-error.ts";
import { EXIT } from "./exit-codes.ts";
import { Output } from "./output.ts";
import type { Shell } from "./shell.ts";
import { findTarget, type Target, type TargetFlags } from "./target.ts";

/** The flags that every command has. */
export interface CommonFlags extends TargetFlags {
  json?: boolean;
  quiet?: boolean;
}

/** How long a single call is tried again: a person waits, and is mostly told that no server was started. */
const RETRY_FOR_MS = 2000;

/** One run of one command: what it was given, and its ways to the server and to its user. */
export class Run {
  readonly shell: Shell;
  readonly flags: CommonFlags;
  readonly out: Output;
  /** Fires when the run is to end: Ctrl-C, or nobody reads its output any more. */
  readonly signal: AbortSignal;
  /** What the command was given without a flag: a topic, and a group. */
  names: readonly string[] = [];
  /** The route that the command is about, of the topic and group in `names`. */
  route: string | null = null;
  /** What is to be ended with the process, when it may not wait. */
  readonly endings = new Set<() => void>();
  /** Programs that run. */
  readonly programs = new Set<Promise<unknown>>();
  /** Something was asked for that is not done twice lightly: until then a failure has changed nothing. */
  mayHaveChanged = false;
  #target: Target | null = null;
  #fairlane: Fairlane | null = null;

  constructor(shell: Shell, flags: CommonFlags, interrupted: AbortSignal) {
    this.shell = shell;
    this.flags = flags;
    this.out = new Output(shell, { json: flags.json === true, quiet: flags.quiet === true });
    this.signal = AbortSignal.any([interrupted, this.out.closed]);
  }

  /** Which server, tenant and token. Throws a CliError where that cannot be told. */
  get target(): Target {
    if (this.#target === null) {
      this.#target = findTarget(this.shell, this.flags);
      for (const warning of this.#target.warnings) this.out.warn(warning);
    }
    return this.#target;
  }

  /** As far as it is known: for messages about a failure, which may be that it is not. */
  get knownTarget(): Target | null {
    return this.#target;
  }

  get fairlane(): Fairlane {
    this.#fairlane ??= this.connect(RETRY_FOR_MS);
    return this.#fairlane;
  }

  /** A client that tries each call again for so long. */
  connect(retryForMs: number): Fairlane {
    const { url, tenant, token } = this.target;
    return new Fairlane({
      url,
      tenant,
      ...(token === null ? {} : { token }),
      retryForMs,
      fetch: this.#fetch,
    });
  }

  readonly #fetch: Fetch = (url, init) => {
    if (init.method !== "GET") this.mayHaveChanged = true;
    return fetch(url, init);
  };

  get nowMs(): number {
    return this.shell.nowMs();
  }

  /** Resolves when the user, or `--yes`, agrees to what the sentence says; otherwise throws: nothing may happen. */
  async confirm(sentence: string, yes: boolean | undefined): Promise<void> {
    if (yes) return;
    if (!canAsk(this.shell)) {
      throw usageError(`${sentence} There is no terminal to ask at.`, "agree to it beforehand with --yes");
    }
    this.out.clearProgress();
    if (await ask(this.shell, `${sentence} Go on?`)) return;
    throw new CliError("nothing was done", EXIT.usage);
  }
}
