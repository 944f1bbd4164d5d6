import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { CliError } from "../../../src/cli/cli-error.ts";
import { type FilterFlags, filterOf } from "../../../src/cli/route-filter.ts";
import { countsLine, endedLine, filterShown } from "../../../src/cli/route-text.ts";
import { Run } from "../../../src/cli/run.ts";
import type { Filter, Route } from "../../../src/client/fairlane.ts";
import { fakeShell } from "./fake-shell.ts";

let folder: string;
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), "fairlane-filter-"));
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

function filter(flags: Partial<FilterFlags>, stdin?: string): Promise<Filter> {
  const shell = fakeShell({ cwd: folder, ...(stdin === undefined ? {} : { stdin }) });
  return filterOf(new Run(shell, {}, new AbortController().signal), { parts: [], ...flags });
}

const ALICE = { header: "x-dev", equals: "alice" };

describe("a filter on the command line", () => {
  test.each<[string[], Filter]>([
    [["X-Dev=alice"], ALICE],
    [["x-dev=alice", "key^=order-"], { all: [ALICE, { key: { prefix: "order-" } }] }],
    [
      ["x-dev=alice, !x-test", "a=b"],
      { all: [ALICE, { header: "x-test", exists: false }, { header: "a", equals: "b" }] },
    ],
    [['x-dev="alice b"'], { header: "x-dev", equals: "alice b" }],
    [[JSON.stringify(ALICE)], ALICE],
    [
      ['{"any":[{"header":"a","equals":"b"}]}', "x-dev=alice"],
      { all: [{ any: [{ header: "a", equals: "b" }] }, ALICE] },
    ],
  ])("%j", async (parts, expected) => {
    expect(await filter({ parts })).toEqual(expected);
  });

  test("is every message only where that is said", async () => {
    expect(await filter({ all: true })).toEqual({ everything: true });
    await expect(filter({})).rejects.toThrow("which messages?");
    await expect(filter({ parts: [" "] })).rejects.toThrow("must not be empty");
  });

  test("comes from a file, or stdin, in either form", async () => {
    writeFileSync(join(folder, "json"), `\n${JSON.stringify(ALICE, null, 2)}\n`);
    writeFileSync(join(folder, "short"), "x-dev=alice\n");
    expect(await filter({ filterFile: "json" })).toEqual(ALICE);
    expect(await filter({ filterFile: "short" })).toEqual(ALICE);
    expect(await filter({ filterFile: "-" }, "x-dev=alice\n")).toEqual(ALICE);
  });

  test("of a file that cannot be one is refused, as wrong usage", async () => {
    writeFileSync(join(folder, "bytes"), Uint8Array.from([0x78, 0xff]));
    writeFileSync(join(folder, "large"), "x".repeat(40_000));
    writeFileSync(join(folder, "empty"), "\n");
    for (const [filterFile, words] of [
      ["bytes", "bytes is not text in UTF-8"],
      ["large", "the input has over"],
      ["empty", "must not be empty"],
      ["missing", "missing cannot be read (ENOENT)"],
    ] as const) {
      const error = await filter({ filterFile }).catch((found: unknown) => found);
      expect(error).toBeInstanceOf(CliError);
      expect(error).toMatchObject({ exitCode: 2, message: expect.stringContaining(words) });
    }
  });

  test("with several mistakes says each, and shows a long text cut", async () => {
    const long = `{"all":[{"header":"a"},{"header":"b","equals":1}],"x${"y".repeat(200)}":1}`;
    const error = (await filter({ parts: [long] }).catch((found: unknown) => found)) as CliError;
    expect(error.message.split("\n").length).toBeGreaterThan(2);
    expect(error.message.split("\n")[0]?.length).toBeLessThan(130);
    expect(error.message).toContain("all[0] must have one of");
    expect(error.message).toContain("all[1].equals must be a string");
  });
});

describe("what is shown of routes", () => {
  const route: Route = {
    route: "alice",
    filter: ALICE,
    ttlMs: 30_000,
    startedAt: 0,
    expiresAt: 30_000,
    delivered: 3,
    backlog: 10_000,
    atLeast: true,
    inFlight: 1,
    subscribers: 2,
  };
  const application = { delivered: 1, backlog: 0, inFlight: 0, subscribers: 0 };

  test("are filters as one would type them, or JSON", () => {
    expect(filterShown(ALICE as Filter)).toBe("x-dev=alice");
    expect(filterShown({ everything: true })).toBe("every message");
    expect(filterShown({ not: ALICE as Filter })).toBe(`{"not":${JSON.stringify(ALICE)}}`);
  });

  test("are numbers, also where they are lower bounds", () => {
    expect(countsLine(route, application)).toBe(
      "alice: 3 delivered, 10000+ unsettled, 1 in flight, 2 subscribers; " +
        "application: 1 delivered, 0 unsettled, no subscriber",
    );
    expect(endedLine(route, application)).toBe(
      "route alice ended: 3 messages went to it, 1 to the application; 10000+ went back",
    );
    expect(endedLine({ ...route, delivered: 1, backlog: 0, atLeast: undefined }, null)).toBe(
      "route alice ended: 1 message went to it; 0 went back",
    );
  });
});
