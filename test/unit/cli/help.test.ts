import type { Command } from "commander";
import { describe, expect, test } from "vitest";
import { Cli } from "../../../src/cli/cli.ts";
import { EXIT, exitCodesHelp } from "../../../src/cli/exit-codes.ts";
import { programOf } from "../../../src/cli/program.ts";
import { similarNames } from "../../../src/cli/similar-names.ts";
import { fakeShell, runLine } from "./fake-shell.ts";

const program = programOf(new Cli(fakeShell(), new AbortController().signal));

function* below(command: Command, path: readonly string[] = []): Generator<[string, Command]> {
  for (const sub of command.commands) {
    yield [[...path, sub.name()].join(" "), sub];
    yield* below(sub, [...path, sub.name()]);
  }
}
const commands = [...below(program)];
const flagsOf = (command: Command) => command.options.map(({ long }) => long);

describe("every command", () => {
  test("is there", () => {
    const asked =
      "publish consume tail topics topic-stats messages inspect delete purge dead-letters redrive purge-dead-letters " +
      "lag offsets reset-offset leases release-lease groups gc token explain waiting subscribers ui profile status split";
    expect(program.commands.map((command) => command.name()).sort()).toEqual(asked.split(" ").sort());
  });

  test.each(commands)("%s has examples and the common flags", async (path, command) => {
    const { code, stdout } = await runLine([...path.split(" "), "--help"]);
    expect(code).toBe(EXIT.done);
    expect(stdout).toMatch(/\nExamples:\n {2}\$ \S/);
    const examples = stdout.slice(stdout.indexOf("\nExamples:"));
    expect(examples, "its examples are its own").toContain(`fairlane ${path}`.split(" list")[0]);
    for (const flag of ["--tenant", "--url", "--token", "--profile", "--json", "--quiet"]) {
      expect(flagsOf(command), path).toContain(flag);
    }
    expect(new Set(flagsOf(command)).size).toBe(command.options.length);
  });

  test.each([
    "delete",
    "purge",
    "purge-dead-letters",
    "reset-offset",
    "release-lease",
    "redrive",
    "groups delete",
  ])("%s can be agreed to beforehand", (path) => {
    expect(flagsOf(commands.find(([name]) => name === path)?.[1] as Command)).toContain("--yes");
  });
});

describe("help", () => {
  test("of the program has every command, the exit codes and the defaults", async () => {
    for (const args of [["--help"], [], ["help"]]) {
      const { code, stdout } = await runLine(args);
      expect(code).toBe(EXIT.done);
      expect(stdout).toContain(exitCodesHelp());
      expect(stdout).toContain("reset-offset <topic> <group>");
    }
    for (const code of Object.values(EXIT)) expect(exitCodesHelp()).toMatch(new RegExp(`^ {2}${code} `, "m"));
  });
});

test("similar names are the near ones, best first", () => {
  expect(similarNames("ordrs", ["orders", "order-events", "payments", "ords"])).toEqual(["orders", "ords"]);
  expect(similarNames("order", ["orders", "order-events", "x"])).toEqual(["orders", "order-events"]);
  expect(similarNames("abc", [])).toEqual([]);
  expect(
    similarNames(
      "a",
      Array.from({ length: 5000 }, (_, i) => `a${i}`),
    ),
  ).toHaveLength(5);
});
