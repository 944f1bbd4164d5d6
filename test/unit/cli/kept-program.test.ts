import { setTimeout as pause } from "node:timers/promises";
import { describe, expect, test } from "vitest";
import { Interrupted } from "../../../src/cli/interrupts.ts";
import { environmentOf, runProgram } from "../../../src/cli/kept-program.ts";
import { OutputClosed } from "../../../src/cli/output.ts";
import { Run } from "../../../src/cli/run.ts";
import { fakeShell } from "./fake-shell.ts";

function runOf(env: Record<string, string> = {}, flags = {}) {
  const interruption = new AbortController();
  const shell = fakeShell({ env: { PATH: process.env.PATH ?? "", ...env } });
  return { run: new Run(shell, flags, interruption.signal), interruption };
}

/** Ends only when it is told to, or after half a minute: no failing test leaves it behind. */
const HANGS = "for i in $(seq 1500); do sleep 0.02; done";

async function until(what: () => boolean): Promise<void> {
  for (let i = 0; i < 500 && !what(); i += 1) await pause(10);
  expect(what()).toBe(true);
}

describe("a program that runs while a route is kept", () => {
  test.each([
    ["exit 0", 0],
    ["exit 7", 7],
    ["exit 255", 255],
    ["kill -TERM $$", 143],
    ["kill -KILL $$", 137],
    ["no-such-program-here 2> /dev/null", 127],
    [`test "$FAIRLANE_ROUTE|$MINE" = 'alice|kept'`, 0],
  ])("%s ends with %i, as a shell would say it", async (command, exitCode) => {
    const { run } = runOf({ MINE: "kept" });
    const listeners = process.listenerCount("SIGTERM");
    expect(await runProgram(run, command, { FAIRLANE_ROUTE: "alice" })).toBe(exitCode);
    expect(run.endings.size).toBe(0);
    expect(process.listenerCount("SIGTERM")).toBe(listeners);
  });

  test("ends with the process, when that may not wait", async () => {
    const { run } = runOf();
    const ended = runProgram(run, `${HANGS} & wait`, {});
    await until(() => run.endings.size === 1);
    for (const end of run.endings) end();
    expect(await ended).toBe(143);
  });

  test("ends when nobody reads the output any more; an interruption alone is the signal's matter", async () => {
    const { run, interruption } = runOf();
    let exitCode: number | null = null;
    const ended = runProgram(run, HANGS, {}).then((code) => {
      exitCode = code;
    });
    interruption.abort(new Interrupted());
    await until(() => run.endings.size === 1);
    expect(exitCode).toBeNull();
    for (const end of run.endings) end();
    await ended;
    const other = runOf();
    const closed = runProgram(other.run, HANGS, {});
    other.interruption.abort(new OutputClosed());
    expect(await closed).toBe(143);
  });
});

describe("the program's environment", () => {
  test("has the token of the environment where that is for this run's server, and no other", () => {
    const env = { FAIRLANE_URL: "http://127.0.0.1:1", FAIRLANE_TOKEN: "a.b.c", OTHER: "o" };
    expect(environmentOf(runOf(env).run)).toMatchObject({ FAIRLANE_TOKEN: "a.b.c", OTHER: "o" });
    expect(environmentOf(runOf(env, { url: "http://127.0.0.1:2" }).run)).not.toHaveProperty("FAIRLANE_TOKEN");
    expect(environmentOf(runOf(env, { token: "d.e.f" }).run)).not.toHaveProperty("FAIRLANE_TOKEN");
    const { FAIRLANE_TOKEN: _, ...without } = env;
    expect(environmentOf(runOf(without, { token: "d.e.f" }).run)).not.toHaveProperty("FAIRLANE_TOKEN");
  });
});
