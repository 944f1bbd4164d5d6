import { describe, expect, test } from "vitest";
import { escapeCell, escapeLine, escapeText } from "../../../src/cli/escape.ts";
import { Output } from "../../../src/cli/output.ts";
import { fakeShell } from "./fake-shell.ts";

describe("what others wrote cannot drive a terminal", () => {
  test.each([
    ["\x1b[2J\x1b]0;title\x07", "\\x1b[2J\\x1b]0;title\\x07"],
    ["a\rb\bc", "a\\rb\\x08c"],
    ["\x9b31m\x85", "\\x9b31m\\x85"],
    ["a\u202eb\u2066c", "a\\u{202e}b\\u{2066}c"],
    ["zero\u200bwidth\ufeff", "zero\\u{200b}width\\u{feff}"],
    ["\ud800 \u2028", "\\u{d800} \\u{2028}"],
    ["tag\u{e0041}", "tag\\u{e0041}"],
    ["plain é 漢字 😀 'x'", "plain é 漢字 😀 'x'"],
  ])("%j", (text, shown) => {
    expect(escapeLine(text)).toBe(shown);
    expect(escapeText(text)).toBe(shown);
  });

  test("a body keeps its lines, a name is one", () => {
    expect(escapeText("a\n\tb")).toBe("a\n\tb");
    expect(escapeLine("a\n\tb")).toBe("a\\n\\tb");
    expect(escapeCell("a\tb\nc\x1b")).toBe("a\\tb\\nc\\x1b");
  });
});

describe("output", () => {
  const dangerous = "\x1b[31mname\u202e";
  const tableOf = (out: Output) =>
    out.table([{ title: "NAME" }, { title: "N", align: "right" }], [[dangerous, 5]]);

  test("to a terminal is escaped, with titles", () => {
    const out = new Output(fakeShell({ terminal: true, env: { NO_COLOR: "1" } }), {
      json: false,
      quiet: false,
    });
    expect(out.name(dangerous)).toBe("\\x1b[31mname\\u{202e}");
    expect(tableOf(out)).toBe("NAME                  N\n\\x1b[31mname\\u{202e}  5");
  });

  test("to a pipe is tab-separated, and drives no terminal behind the pipe", () => {
    const out = new Output(fakeShell(), { json: false, quiet: false });
    const harmless = dangerous.replace("\x1b", "\\x1b");
    expect(out.name(dangerous)).toBe(harmless);
    expect(tableOf(out)).toBe(`${harmless}\t5`);
  });

  test("JSON on a terminal holds no control character either", async () => {
    const shell = fakeShell({ terminal: true });
    await new Output(shell, { json: true, quiet: false }).document('{"a":"\u009b31m"}');
    expect(shell.written.stdout).toBe('{"a":"\\x9b31m"}\n');
  });

  test("colours only on a terminal, and not with NO_COLOR", () => {
    const styled = (options: Parameters<typeof fakeShell>[0]) =>
      new Output(fakeShell(options), { json: false, quiet: false }).styled("bold", "x");
    expect(styled({ terminal: true })).toBe("\x1b[1mx\x1b[22m");
    expect(styled({ terminal: true, env: { NO_COLOR: "1" } })).toBe("x");
    expect(styled({ terminal: true, env: { TERM: "dumb" } })).toBe("x");
    expect(styled({})).toBe("x");
  });

  test("notes and progress are for people: neither quiet, nor JSON, nor progress in a file", () => {
    const told = (terminal: boolean, json: boolean, quiet: boolean) => {
      const shell = fakeShell({ terminal });
      const out = new Output(shell, { json, quiet });
      out.progress("5 …");
      out.note("done");
      return shell.written.stderr;
    };
    expect(told(false, false, false)).toBe("done\n");
    expect(told(true, false, false)).toBe("\r\x1b[2K5 …\r\x1b[2Kdone\n");
    expect(told(true, true, false)).toBe("");
    expect(told(true, false, true)).toBe("");
  });

  test("a failure's words are escaped on a terminal", () => {
    const shell = fakeShell({ terminal: true, env: { NO_COLOR: "1" } });
    new Output(shell, { json: false, quiet: true }).failure({}, `no topic ${dangerous}`);
    expect(shell.written.stderr).toBe("fairlane: no topic \\x1b[31mname\\u{202e}\n");
  });
});
