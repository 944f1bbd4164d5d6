import { spawnSync } from "node:child_process";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { EXIT } from "../../src/cli/exit-codes.ts";
import * as limits from "../../src/core/limits.ts";
import { DEFAULT_GROUP_SETTINGS, DEFAULT_TOPIC_SETTINGS } from "../../src/core/settings.ts";
import { blocker, MESSAGE_STATES } from "../../src/protocol/explain.ts";
import { type Block, firstColumnNames, readBlocks, section } from "../vitess/operations-document.ts";
import { ExampleWorker } from "./example-worker.ts";
import { fileOf, firstUnprinted, GuidePlace } from "./guide-place.ts";

const ROOT = resolve(import.meta.dirname, "../..");
const GUIDE = join(ROOT, "docs/guide");
/** In the order in which they are read. */
const PAGES = [
  "README",
  "concepts",
  "publishing",
  "consuming",
  "failures",
  "operating",
  "command-line",
  "splitting",
  "brokered-splits",
];
/** Terminals come and go in these: guide-splitting.test.ts follows them. Their programs stand beside the others. */
const FOLLOWED_ELSEWHERE = ["splitting", "brokered-splits"];
const MAX_PAGE_LINES = 260;
/** npm packs and installs, and some fifty programs start. */
const FOLLOWED_MS = 180_000;

const read = (page: string) => readFileSync(join(GUIDE, `${page}.md`), "utf8");
const pages = PAGES.map((name) => ({ name, text: read(name), blocks: readBlocks(read(name)) }));
const blocks = pages.flatMap((page) => page.blocks);
const followed = pages.flatMap((page) =>
  page.blocks.filter(
    (block) => fileOf(block) !== null || (block.mark !== null && !FOLLOWED_ELSEWHERE.includes(page.name)),
  ),
);

/** Of a page: blocks that are neither run, nor a program, nor a picture, nor said to be not run. */
function unclear(block: Block): boolean {
  if (block.language === "ts") return fileOf(block) === null;
  if (block.language === "txt") return false;
  return !(block.language === "sh" && (block.mark !== null || /\bnot run\b/i.test(block.paragraph)));
}

describe("docs/guide", () => {
  test.each(pages)("$name says of each block what it is", (page) => {
    expect(page.blocks.filter(unclear).map(({ line, language }) => `line ${line}: ${language}`)).toEqual([]);
  });

  test.each(pages)("$name is short", ({ text }) => {
    expect(text.split("\n").length).toBeLessThan(MAX_PAGE_LINES);
  });

  test("runs each program that it shows", () => {
    const commands = blocks.filter(({ mark }) => mark !== null).map(({ text }) => text);
    const programs = blocks.flatMap((block) => fileOf(block) ?? []);
    const sources = blocks.filter(({ language }) => language === "ts").map(({ text }) => text);
    expect(programs.length).toBeGreaterThan(6);
    expect(new Set(programs).size).toBe(programs.length);
    const used = (program: string) =>
      commands.some((text) => text.includes(`node ${program}`)) ||
      sources.some((text) => text.includes(`"./${program}"`));
    expect(programs.filter((program) => !used(program))).toEqual(["statistics-worker.ts"]);
  });

  const examples = ["", "github-webhook/", "order-pipeline/", "job-runner/", "cron-publisher/"];
  test.each([
    ...PAGES.map((name) => `docs/guide/${name}.md`),
    ...examples.map((folder) => `examples/${folder}README.md`),
  ])("%s has no dead link", (page) => {
    const path = join(ROOT, page);
    const links = [...readFileSync(path, "utf8").matchAll(/\]\(([^)\s]+)\)/g)].map(
      ([, link]) => link as string,
    );
    const dead = links.filter((link) => !link.startsWith("https://") && !leadsSomewhere(path, link));
    expect(dead).toEqual([]);
  });

  test("explains every state and every blocker, and no other", () => {
    const failures = read("failures");
    const [states, blockers] = ["### States", "### Blockers"].map(
      (heading) => (failures.split(`${heading}\n`)[1] as string).split(/^##/m)[0] as string,
    );
    expect(firstColumnNames(states as string)).toEqual([...MESSAGE_STATES]);
    expect(firstColumnNames(blockers as string)).toEqual(
      blocker.options.map(({ shape }) => shape.kind.value),
    );
  });

  test("names every command and every exit code, and no other", () => {
    const help = spawnSync(process.execPath, [join(ROOT, "src/cli/main.ts"), "--help"], {
      encoding: "utf8",
    }).stdout;
    const commands = [...help.matchAll(/^ {2}([a-z][a-z-]*)(?: [<[].*| {2,}.*)$/gm)].map(
      ([, name]) => name as string,
    );
    const page = read("command-line");
    const named = [...(page.split("\n## ")[0] as string).matchAll(/^\| [^|]+ \| (.+) \|$/gm)].flatMap(
      ([, cell]) => [...(cell as string).matchAll(/`([^`]+)`/g)].map(([, name]) => name as string),
    );
    expect(named.sort()).toEqual(commands.filter((name) => name !== "help").sort());
    const codes = firstColumnNames(section(page, "In scripts")).map(Number);
    expect(codes).toEqual(Object.values(EXIT).sort((a, b) => a - b));
  });

  test("has the limits and defaults of the source", () => {
    const MIB = 1024 * 1024;
    const DAY_MS = 24 * 3600 * 1000;
    const names = [
      limits.MAX_TENANT_CHARS,
      limits.MAX_TOPIC_CHARS,
      limits.MAX_GROUP_CHARS,
      limits.MAX_SUBSCRIBER_CHARS,
    ];
    const wide = (count: number) => count.toLocaleString("en-US");
    const limitRows = section(read("concepts"), "Limits");
    for (const shown of [
      `| body | ${limits.MAX_BODY_BYTES / MIB} MiB |`,
      `${limits.MAX_BATCH_MESSAGES} messages, ${limits.MAX_BATCH_BODY_BYTES / MIB} MiB of bodies`,
      `| ${limits.MAX_HEADERS}, ${limits.MAX_HEADERS_BYTES / 1024} KiB in all |`,
      `1 to ${limits.MAX_KEY_CODE_POINTS} Unicode characters`,
      `at most ${names.join(", ")} |`,
      `| delay | ${limits.MAX_DELAY_MS / DAY_MS} days |`,
      `| ${limits.MIN_VISIBILITY_TIMEOUT_MS / 1000} s to ${limits.MAX_VISIBILITY_TIMEOUT_MS / 3_600_000} hours |`,
      `| 1 to ${wide(limits.MAX_ATTEMPTS)} |`,
      `| ${wide(limits.MAX_TOPICS_PER_TENANT)}; ${limits.MAX_GROUPS_PER_TOPIC}; ${wide(limits.MAX_SUBSCRIBERS_PER_GROUP)} |`,
      `| ${limits.MAX_ROUTES_PER_GROUP}; ${limits.MIN_ROUTE_TTL_MS / 1000} s to ${limits.MAX_ROUTE_TTL_MS / DAY_MS} day |`,
      `| ${wide(limits.MAX_WAITING_RECEIVES)} |`,
      `| ${limits.MAX_EMBEDDED_BYTES / 1e9} GB, then`,
    ]) {
      expect(limitRows).toContain(shown);
    }
    const group = DEFAULT_GROUP_SETTINGS;
    const choices = section(read("concepts"), "What you choose, and what it costs");
    for (const shown of [
      `one of ${limits.SPREAD_LANES} lanes`,
      `\`maxInFlightPerPartition: 1\` | ${group.maxInFlightPerPartition} |`,
      `\`visibilityTimeoutMs\` | ${group.visibilityTimeoutMs / 1000} s |`,
      `\`leaseDurationMs\` | ${group.leaseDurationMs / 1000} s |`,
      `\`maxAttempts\` | ${group.maxAttempts} |`,
      `| ${group.retry.initialBackoffMs / 1000} s, doubled each time, at most ${group.retry.maxBackoffMs / 1000} s |`,
      `\`startFrom\` | \`${group.startFrom}\` |`,
      `\`retentionMs\` of the topic | ${DEFAULT_TOPIC_SETTINGS.retentionMs / 3_600_000} hour |`,
      `\`maxRetentionMs\` of the topic | ${DEFAULT_TOPIC_SETTINGS.maxRetentionMs / DAY_MS} days |`,
    ]) {
      expect(choices).toContain(shown);
    }
    expect([group.retry.multiplier, group.deadLetters, group.paused]).toEqual([2, true, false]);
    expect(read("failures")).toContain(`kept for ${limits.DEAD_LETTER_RETENTION_MS / DAY_MS} days`);
  });
});

describe("docs/guide, followed word by word", () => {
  let place: GuidePlace;
  beforeAll(async () => {
    place = await GuidePlace.start();
    for (const block of followed) await place.run(block);
  }, FOLLOWED_MS);
  afterAll(() => place?.close());

  test("leaves no block out", () => {
    expect(place.done.map(({ block }) => block)).toEqual(followed);
  });

  test("the programs are right in their types, as a strict project sees them", () => {
    const options = {
      compilerOptions: {
        target: "es2022",
        lib: ["es2023", "dom", "dom.iterable", "dom.asynciterable"],
        module: "nodenext",
        strict: true,
        exactOptionalPropertyTypes: true,
        noUncheckedIndexedAccess: true,
        erasableSyntaxOnly: true,
        allowImportingTsExtensions: true,
        noEmit: true,
        typeRoots: [join(ROOT, "node_modules/@types")],
        types: ["node"],
      },
      include: ["*.ts"],
    };
    writeFileSync(join(place.shop, "tsconfig.json"), JSON.stringify(options));
    const tsc = join(ROOT, "node_modules/typescript/bin/tsc");
    const { status, stdout } = spawnSync(process.execPath, [tsc, "-p", place.shop], { encoding: "utf8" });
    expect(stdout).toBe("");
    expect(status).toBe(0);
  });

  test("the folder of the checkout can be installed as well", async () => {
    const printed = await place.paste(`(
mkdir ../linked && cd ../linked && npm init -y > /dev/null
npm install --silent ../fairlane
node --input-type=module -e 'import { Fairlane } from "fairlane"; console.log("it is a", typeof Fairlane)'
npx fairlane status
)`);
    expect(printed).toMatch(/^it is a function\nstatus {3}ok$/m);
  });

  test("the Worker consumes when cron fires, and acknowledges", async () => {
    const variables = { FAIRLANE_URL: place.server.url, FAIRLANE_TOKEN: place.server.token, RUN_MS: "1500" };
    const worker = await ExampleWorker.start(join(place.shop, "statistics-worker.ts"), variables);
    try {
      expect(await worker.fireCron(0)).toEqual({ ok: true });
      expect(worker.output()).toMatch(/[1-9]\d* bytes of invoices/);
    } finally {
      await worker.stop();
    }
  });
});

test("what is printed is compared with what the guide shows, times and offsets apart", () => {
  const printed = "one\n2 of 3 at 2026-11-29T10:00:00.000Z\nthree at offset 218137900000000\n";
  expect(firstUnprinted("one\n2 of 3 at 2026-01-01T00:00:00.000Z\n…", printed)).toBeNull();
  expect(firstUnprinted("…\nthree at offset 218137900000017", printed)).toBeNull();
  expect(firstUnprinted("one\n2 of 4 at 2026-11-29T10:00:00.000Z\n…", printed)).toContain("2 of 4");
  expect(firstUnprinted("three at offset 218137900000000", printed)).toContain("three");
  expect(firstUnprinted("one", printed)).toContain("it goes on");
});

function leadsSomewhere(from: string, link: string): boolean {
  const [path = "", anchor] = link.split("#");
  const target = path === "" ? from : resolve(dirname(from), path);
  if (!existsSync(target)) return false;
  if (anchor === undefined) return true;
  const headings = [...readFileSync(target, "utf8").matchAll(/^#{1,4} (.+)$/gm)].map(
    ([, heading]) => heading as string,
  );
  return headings.some((heading) => anchor === anchorOf(heading));
}

function anchorOf(heading: string): string {
  return heading
    .toLowerCase()
    .replace(/[^\w -]/g, "")
    .replaceAll(" ", "-");
}
