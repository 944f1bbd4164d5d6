import util from "node:util";
import { escapeCell, escapeLine, escapeText } from "./escape.ts";
import type { Shell } from "./shell.ts";
import { type Cell, type Column, plainTable, terminalTable } from "./table.ts";

/** The reader of stdout went away (`| head`): there is nobody to write for, which is no failure. */
export class OutputClosed extends Error {
  override readonly name = "OutputClosed";
}

export interface OutputOptions {
  json: boolean;
  quiet: boolean;
}

type Style = "bold" | "dim" | "red" | "yellow" | "green";

/** Results go to stdout, everything else to stderr. Colours, and progress, only where there is a terminal. */
export class Output {
  readonly json: boolean;
  readonly quiet: boolean;
  /** stdout is one: what others wrote is escaped, tables have titles, times are relative. */
  readonly terminal: boolean;
  readonly #shell: Shell;
  readonly #closed = new AbortController();
  #progressShown = false;

  constructor(shell: Shell, options: OutputOptions) {
    this.#shell = shell;
    this.json = options.json;
    this.quiet = options.quiet;
    this.terminal = shell.stdout.isTTY === true;
    // Without listeners an error of a stream would end the process with a stack; `write` reports it.
    shell.stdout.on("error", (error: NodeJS.ErrnoException) => {
      if (error.code === "EPIPE") this.#closed.abort(new OutputClosed());
    });
    shell.stderr.on("error", () => {});
  }

  /** Fires when the reader of stdout went away. */
  get closed(): AbortSignal {
    return this.#closed.signal;
  }

  /** Resolves when the text is handed over. Rejects with OutputClosed when its reader went away. */
  write(text: string | Uint8Array): Promise<void> {
    this.clearProgress();
    this.#closed.signal.throwIfAborted();
    return new Promise((resolve, reject) => {
      this.#shell.stdout.write(text, (error) => {
        if (!error) resolve();
        else reject((error as NodeJS.ErrnoException).code === "EPIPE" ? new OutputClosed() : error);
      });
    });
  }

  /** The run's one result: a JSON document, or the words of `text`. */
  async result(value: unknown, text: () => string): Promise<void> {
    if (this.json) await this.document(JSON.stringify(value));
    else {
      const words = text();
      if (words !== "") await this.write(`${words}\n`);
    }
  }

  /** A document, or one of a stream's lines: JSON text as it is. */
  async document(json: string): Promise<void> {
    await this.write(`${this.text(json)}\n`);
  }

  /** Something was done, and there is nothing to show but that. */
  async done(value: unknown, sentence: string): Promise<void> {
    if (this.json || !this.quiet) await this.result(value, () => sentence);
  }

  table(columns: readonly Column[], rows: readonly (readonly Cell[])[]): string {
    if (!this.terminal) return plainTable(rows);
    return terminalTable(columns, rows, (text) => this.styled("dim", text));
  }

  /** A name that somebody else chose, within one line: it may reach a terminal through a pipe as well. */
  name(text: string): string {
    return this.terminal ? escapeLine(text) : escapeCell(text);
  }

  /** A body or a text of several lines. */
  text(text: string): string {
    return this.terminal ? escapeText(text) : text;
  }

  styled(style: Style, text: string): string {
    return colours(this.#shell, this.#shell.stdout) ? paint(style, text) : text;
  }

  /** For whoever watches; never a result. */
  note(text: string): void {
    if (this.quiet || this.json) return;
    this.#tell("", text);
  }

  /** What should be known and stops nothing. */
  warn(text: string): void {
    if (this.quiet) return;
    if (this.json) this.#tell("", JSON.stringify({ warning: text }));
    else this.#tell(this.#label("yellow", "warning: "), text);
  }

  /** Why the run, or a part of it, failed; as JSON one document. */
  failure(json: unknown, text: string): void {
    if (this.json) this.#tell("", JSON.stringify(json));
    else this.#tell(this.#label("red", "fairlane: "), text);
  }

  #label(style: Style, label: string): string {
    return colours(this.#shell, this.#shell.stderr) ? paint(style, label) : label;
  }

  #tell(label: string, text: string): void {
    this.clearProgress();
    this.#shell.stderr.write(`${label}${this.#shell.stderr.isTTY ? escapeText(text) : text}\n`);
  }

  /** One line that changes in place, on a terminal. */
  progress(text: string): void {
    if (this.quiet || this.json || !this.#shell.stderr.isTTY) return;
    this.#progressShown = true;
    this.#shell.stderr.write(`\r\x1b[2K${escapeLine(text)}`);
  }

  clearProgress(): void {
    if (!this.#progressShown) return;
    this.#progressShown = false;
    this.#shell.stderr.write("\r\x1b[2K");
  }
}

function colours(shell: Shell, stream: NodeJS.WriteStream): boolean {
  return stream.isTTY === true && !shell.env.NO_COLOR && shell.env.TERM !== "dumb";
}

// Early versions of Node 20 have no styleText: there the text stays plain.
function paint(style: Style, text: string): string {
  return typeof util.styleText === "function" ? util.styleText(style, text, { validateStream: false }) : text;
}
