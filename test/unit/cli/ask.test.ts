import { EventEmitter } from "node:events";
import type { PassThrough } from "node:stream";
import { describe, expect, test } from "vitest";
import { ask, canAsk } from "../../../src/cli/ask.ts";
import { Interrupted, interruptSignal } from "../../../src/cli/interrupts.ts";
import { fakeShell } from "./fake-shell.ts";

async function answer(typed: string): Promise<{ yes: boolean; shown: string }> {
  const shell = fakeShell({ terminal: true });
  const asked = ask(shell, "This deletes \x1b[2Jall.");
  (shell.stdin as unknown as PassThrough).write(typed);
  return { yes: await asked, shown: shell.written.stderr };
}

describe("a question", () => {
  test.each([
    ["y\n", true],
    ["YES\r", true],
    [" yes \n", true],
    ["\n", false],
    ["n\n", false],
    ["yesterday\n", false],
    ["\x03", false],
    ["\x04", false],
    ["y\x03", false],
  ])("answered with %j is %s", async (typed, yes) => {
    expect((await answer(typed)).yes).toBe(yes);
  });

  test("shows what it quotes escaped", async () => {
    const { shown } = await answer("n\n");
    expect(shown).toContain("This deletes \\x1b[2Jall. [y/N]");
  });

  test("at the end of the input is a no", async () => {
    const shell = fakeShell({ terminal: true, stdin: "" });
    expect(await ask(shell, "Sure?")).toBe(false);
  });

  test("needs a terminal on both sides", () => {
    const [terminal, pipe] = [fakeShell({ terminal: true }), fakeShell()];
    expect(canAsk(terminal)).toBe(true);
    expect(canAsk({ stdin: terminal.stdin, stderr: pipe.stderr })).toBe(false);
    expect(canAsk({ stdin: pipe.stdin, stderr: terminal.stderr })).toBe(false);
  });
});

describe("interruption", () => {
  test("the first signal asks for the end; the same press may arrive twice", () => {
    const exits: number[] = [];
    const running = Object.assign(new EventEmitter(), { exit: (code: number) => exits.push(code) });
    let endedAtOnce = 0;
    let clockMs = 1000;
    const signal = interruptSignal(
      running as unknown as NodeJS.Process,
      () => {
        endedAtOnce += 1;
      },
      () => clockMs,
    );
    expect(signal.aborted).toBe(false);
    running.emit("SIGINT");
    expect(signal.reason).toBeInstanceOf(Interrupted);
    clockMs += 100;
    running.emit("SIGINT");
    expect([exits, endedAtOnce]).toEqual([[], 0]);
    clockMs += 1000;
    running.emit("SIGTERM");
    expect([exits, endedAtOnce]).toEqual([[130], 1]);
  });
});
