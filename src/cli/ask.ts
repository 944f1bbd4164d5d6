import { createInterface } from "node:readline";
import { escapeText } from "./escape.ts";
import type { Shell } from "./shell.ts";

/** Is there somebody to answer, and would they see the question? */
export function canAsk(shell: Pick<Shell, "stdin" | "stderr">): boolean {
  return shell.stdin.isTTY === true && shell.stderr.isTTY === true;
}

/** Asks on stderr, since stdout is for results. Only `y` or `yes` is one; Ctrl-C and the end of the input are a no. */
export function ask(shell: Pick<Shell, "stdin" | "stderr">, question: string): Promise<boolean> {
  const lines = createInterface({ input: shell.stdin, output: shell.stderr, terminal: true });
  return new Promise((resolve) => {
    let answer = "";
    lines.on("SIGINT", () => {
      shell.stderr.write("\n");
      lines.close();
    });
    lines.on("close", () => resolve(/^y(es)?$/i.test(answer.trim())));
    lines.question(`${escapeText(question)} [y/N] `, (text) => {
      answer = text;
      lines.close();
    });
  });
}
