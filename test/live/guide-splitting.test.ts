import { spawnSync } from "node:child_process";
import {
  chmodSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  realpathSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { delimiter, join, resolve } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { parse } from "yaml";
import * as dispatchLimits from "../../src/core/dispatch-limits.ts";
import * as limits from "../../src/core/limits.ts";
import type { PatchOperation } from "../../src/splitting/config/patch.ts";
import * as filterLimits from "../../src/splitting/filter/limits.ts";
import { parseFilter } from "../../src/splitting/filter/parse-filter.ts";
import { parseShortFilter } from "../../src/splitting/filter/parse-short-filter.ts";
import { applyJsonPatch } from "../unit/splitting/config/apply-json-patch.ts";
import { type Block, readBlocks, section } from "../vitess/operations-document.ts";
import { Terminal } from "../vitess/operations-terminal.ts";
import { fileOf, firstUnprinted } from "./guide-place.ts";
import { GuideTerminal } from "./guide-terminal.ts";
import { type Live, setup } from "./harness.ts";

const ROOT = resolve(import.meta.dirname, "../..");
const GUIDE = join(ROOT, "docs/guide");
const PAGES = ["splitting", "brokered-splits"];
/** A program that each page takes from the first one. */
const FIRST_PROGRAM = "fairlane.ts";
const FOLLOWED_MS = 120_000;

const read = (page: string) => readFileSync(join(GUIDE, `${page}.md`), "utf8");
const blocks = PAGES.flatMap((page) => readBlocks(read(page)));

/** Which terminal a paragraph is about; null: the first one, or none. */
function terminalOf({ paragraph }: Block): string | null {
  return /\b(second|third) terminal\b/.exec(paragraph)?.[1] ?? null;
}

/** Of a page: commands, programs, and what one of the further terminals shows. */
function isFollowed(block: Block): boolean {
  return (
    block.mark !== null || fileOf(block) !== null || (block.language === "txt" && terminalOf(block) !== null)
  );
}

/**
 * Where the pages are followed: a server, an application's folder, terminals. The application has the package by its
 * sources, and `npx` that does not start npm: that they are packed and installed is what the other pages are followed for.
 */
class SplittingPlace {
  readonly shop: string;
  /** What was followed. */
  readonly done: Block[] = [];
  /** Of each that was opened, also of those that ended. */
  readonly opened: GuideTerminal[] = [];
  private readonly terminals = new Map<string, GuideTerminal>();
  private readonly first: Terminal;
  private readonly env: Record<string, string>;

  constructor(live: Live) {
    this.shop = realpathSync(mkdtempSync(join(tmpdir(), "fairlane-splitting-")));
    const bin = join(this.shop, "bin");
    const installed = join(this.shop, "node_modules/fairlane");
    for (const folder of [bin, installed]) mkdirSync(folder, { recursive: true });
    const npx = `#!/bin/sh\n[ "$1" = fairlane ] || exit 127\nshift\nexec node ${join(ROOT, "src/cli/main.ts")} "$@"\n`;
    writeFileSync(join(bin, "npx"), npx);
    chmodSync(join(bin, "npx"), 0o755);
    const named = { name: "fairlane", type: "module", exports: "./fairlane.js" };
    writeFileSync(join(installed, "package.json"), JSON.stringify(named));
    const source = JSON.stringify(join(ROOT, "src/client/fairlane.ts"));
    writeFileSync(join(installed, "fairlane.js"), `export * from ${source};\n`);
    writeFileSync(join(this.shop, "package.json"), '{"type":"module"}');
    this.env = {
      PATH: [bin, resolve(process.execPath, ".."), process.env.PATH].join(delimiter),
      HOME: this.shop,
      FAIRLANE_URL: live.url,
      FAIRLANE_TOKEN: live.token,
      NO_COLOR: "1",
    };
    this.first = new Terminal({ folder: this.shop, env: this.env });
  }

  /** Carries a block out; rejects when it fails or shows something else than the page. */
  async follow(block: Block): Promise<void> {
    const file = fileOf(block);
    const name = terminalOf(block);
    if (file !== null) writeFileSync(join(this.shop, file), `${block.text}\n`);
    else if (block.mark === "run") await this.runAndCompare(block);
    else if (name !== null) await this.elsewhere(name, block);
    else throw new Error(`line ${block.line}: which terminal is it for?`);
    this.done.push(block);
  }

  private async runAndCompare({ text, printed: shown }: Block): Promise<void> {
    // Both outputs by one pipe, so that their order is the one that a person sees.
    const printed = await this.first.paste(`{\n${text}\n} 2>&1`);
    const missing = shown === null ? null : firstUnprinted(shown, printed);
    if (missing !== null) throw new Error(`${text}\ndoes not print: ${missing}\nbut:\n${printed}`);
  }

  private async elsewhere(name: string, block: Block): Promise<void> {
    if (block.mark === "serve") {
      const terminal = new GuideTerminal(block.text, { folder: this.shop, env: this.env });
      this.terminals.set(name, terminal);
      this.opened.push(terminal);
      if (block.printed !== null) await terminal.shows(block.printed);
      return;
    }
    const terminal = this.terminals.get(name);
    if (!terminal) throw new Error(`line ${block.line}: the ${name} terminal is not open yet`);
    const [before = "", ...after] = block.text.split(/^\^C\n/m);
    if (before !== "") await terminal.shows(before.trimEnd());
    for (const lines of after) {
      await terminal.interrupt();
      await terminal.shows(lines);
    }
  }

  async close(): Promise<void> {
    for (const terminal of this.opened) await terminal.close();
    await this.first.close();
    rmSync(this.shop, { recursive: true, force: true });
  }
}

describe("docs/guide on splitting, followed word by word", () => {
  let live: Live;
  let place: SplittingPlace;
  beforeAll(async () => {
    live = await setup();
    place = new SplittingPlace(live);
    const [program] = readBlocks(read("README")).filter((block) => fileOf(block) === FIRST_PROGRAM);
    for (const block of [program as Block, ...blocks.filter(isFollowed)]) await place.follow(block);
  }, FOLLOWED_MS);
  afterAll(async () => {
    await place?.close();
    await live?.close();
  });

  test("leaves no block out", () => {
    expect(place.done.slice(1)).toEqual(blocks.filter(isFollowed));
    expect(place.done.length).toBeGreaterThan(15);
  });

  test("each message is billed once, by whom the page says", () => {
    const billed = place.opened
      .flatMap(({ output }) => output.split("\n"))
      .filter((line) => line.includes("billed"));
    expect(billed.sort()).toEqual([
      "alice: billed p-2",
      "alice: billed p-5, attempt 1",
      "application: billed p-1",
      "application: billed p-3",
      "application: billed p-4",
    ]);
  });

  test("the patch points the workload at its shadow, and its inverse gives the manifest back", () => {
    const file = (name: string) => readFileSync(join(place.shop, name), "utf8");
    const patch = (name: string) => JSON.parse(file(name)) as PatchOperation[];
    const manifest: unknown = parse(file("worker.yaml"));
    const overridden = applyJsonPatch(manifest, patch("override.json"));
    expect(JSON.stringify(overridden)).toContain('"ORDERS_QUEUE","value":"fairlane-app-shadow-orders-');
    expect(applyJsonPatch(overridden, patch("back.json"))).toEqual(manifest);
  });

  test("the configuration of Kafka is valid beside the other one", () => {
    const kafka = readBlocks(read("brokered-splits")).find(({ text }) => text.includes("kafka:"));
    const [, annotation = "", spec = ""] = /([\s\S]*?)(\nspec:[\s\S]*)/.exec(manifestText(place.shop)) ?? [];
    const indented = (kafka?.text ?? "").replace(/^/gm, " ".repeat(8));
    const env = ["PAYMENTS_TOPIC", "PAYMENTS_GROUP", "KAFKA_BROKERS"].map(
      (name) => `\n            - { name: ${name}, value: ${name.toLowerCase()} }`,
    );
    writeFileSync(
      join(place.shop, "both.yaml"),
      `${annotation}\n${indented}${spec.trimEnd()}${env.join("")}\n`,
    );
    const main = join(ROOT, "src/cli/main.ts");
    const args = [main, "split", "validate", "-f", "both.yaml"];
    const { status, stdout, stderr } = spawnSync(process.execPath, args, {
      cwd: place.shop,
      encoding: "utf8",
    });
    expect(stderr).toBe("");
    expect(stdout).toContain("\tpayments\tworker\tkafka\tpayments_topic\t");
    expect(status).toBe(0);
  });
});

function manifestText(shop: string): string {
  return readFileSync(join(shop, "worker.yaml"), "utf8");
}

describe("docs/guide/splitting.md", () => {
  test("shows each filter in both forms, and they are the same", () => {
    const rows = [...section(read("splitting"), "Filters").matchAll(/^\| (`.+`)? ?\| `(\{.+\})` \|/gm)];
    expect(rows.length).toBeGreaterThan(10);
    for (const [, short, json = ""] of rows) {
      const { filter } = parsed(parseFilter(JSON.parse(json), "fairlane"));
      const text = short?.slice(1, -1).replaceAll("\\|", "|");
      if (text === undefined) continue;
      if (text === "--all") expect(filter).toEqual({ everything: true });
      else expect(parsed(parseShortFilter(text, "fairlane")).filter, text).toEqual(filter);
    }
  });

  test("has the limits of the source", () => {
    const page = read("splitting");
    const wide = (count: number) => count.toLocaleString("en-US");
    for (const shown of [
      `${limits.MAX_ROUTES_PER_GROUP} routes a group`,
      `for ${limits.MIN_ROUTE_TTL_MS / 1000} s to ${limits.MAX_ROUTE_TTL_MS / 86_400_000} day`,
      `${wide(dispatchLimits.MAX_ROUTE_LANES)} partitions`,
      `${wide(dispatchLimits.MAX_ROUTE_EXCEPTIONS)} failed or postponed`,
      `${filterLimits.MAX_ATOMS} conditions and ${filterLimits.MAX_FILTER_BYTES / 1024} KiB`,
      `${filterLimits.MAX_EXPRESSION_CODE_POINTS} characters`,
      `at most ${limits.MAX_WAIT_MS / 1000} s`,
      `\`ttlMs\` (${limits.DEFAULT_ROUTE_TTL_MS / 1000} s if absent)`,
    ]) {
      expect(page).toContain(shown);
    }
  });
});

function parsed<T extends { ok: boolean }>(result: T): Extract<T, { ok: true }> {
  if (!result.ok) throw new Error(JSON.stringify(result));
  return result as Extract<T, { ok: true }>;
}
