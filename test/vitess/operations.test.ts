import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { firstColumnNames, missingLine, readBlocks, section, unclearBlocks } from "./operations-document.ts";
import { OperationsPlace } from "./operations-place.ts";

const ROOT = resolve(import.meta.dirname, "../..");
const read = (path: string) => readFileSync(join(ROOT, path), "utf8");
const DOCUMENT = read("docs/operations.md");
const BLOCKS = readBlocks(DOCUMENT);
const MAX_LINES = 350;
/** npm starts some twenty times, and wrangler bundles the Worker. */
const FOLLOWED_MS = 240_000;

describe("docs/operations.md", () => {
  test("says of each block whether it is run", () => {
    expect(BLOCKS.length).toBeGreaterThan(15);
    expect(unclearBlocks(BLOCKS)).toEqual([]);
  });

  test("says of each command in its prose that needs an account that it is not run", () => {
    const paragraphs = DOCUMENT.replace(/^```[\s\S]*?^```$/gm, "").split("\n\n");
    const named = paragraphs.filter((text) => /`(?:pscale|vtctldclient|npx wrangler) [^`]+`/.test(text));
    expect(named.length).toBeGreaterThan(3);
    expect(named.filter((text) => !/\bnot run\b/i.test(text))).toEqual([]);
  });

  test("is short enough to be read in an emergency", () => {
    expect(DOCUMENT.split("\n").length).toBeLessThan(MAX_LINES);
  });

  test("names npm scripts, files and headings that exist", () => {
    const { scripts } = JSON.parse(read("package.json")) as { scripts: Record<string, string> };
    const named = [...DOCUMENT.matchAll(/npm run (?:--silent )?([a-z:]+)/g)].map(
      ([, name]) => name as string,
    );
    expect(named.length).toBeGreaterThan(5);
    expect(named.filter((name) => !(name in scripts))).toEqual([]);
    const paths = [...DOCUMENT.matchAll(/`((?:src|docs|schema)\/[\w./-]*)`/g)].map(
      ([, path]) => path as string,
    );
    expect(paths.length).toBeGreaterThan(3);
    expect(paths.filter((path) => !existsSync(join(ROOT, path)))).toEqual([]);
    const anchors = [...DOCUMENT.matchAll(/\]\(#([^)]+)\)/g)].map(([, anchor]) => anchor as string);
    const headings = [...DOCUMENT.matchAll(/^## (.+)$/gm)].map(([, heading]) => anchorOf(heading as string));
    expect(anchors.filter((anchor) => !headings.includes(anchor))).toEqual([]);
  });

  test("explains every event that is logged, and no other", () => {
    const explained = firstColumnNames(section(DOCUMENT, "What to watch"));
    expect([...explained].sort()).toEqual(loggedEvents());
  });

  test("has the README's commands for a database among its own", () => {
    const ofReadme = readBlocks(section(read("README.md"), "With a database"));
    expect(ofReadme.length).toBeGreaterThan(0);
    const run = BLOCKS.filter(({ mark }) => mark !== null).map(({ text }) => text);
    for (const { text } of ofReadme) expect(run).toContain(text);
  });
});

describe("docs/operations.md, followed word by word", () => {
  const marked = BLOCKS.filter(({ mark }) => mark !== null);
  let place: OperationsPlace;

  beforeAll(async () => {
    const settings = marked[0];
    if (settings?.language !== "ini") throw new Error("it must begin with the server's settings");
    place = await OperationsPlace.start(settings);
    for (const block of marked.slice(1)) await place.run(block);
  }, FOLLOWED_MS);
  afterAll(() => place?.close());

  const printedBy = (part: string) =>
    place.done.filter(({ block }) => block.text.includes(part)).map(({ printed }) => printed);

  test("leaves no block out", () => {
    expect(place.done.map(({ block }) => block.line)).toEqual(marked.map(({ line }) => line));
  });

  test("delivers what was published", () => {
    const [printed] = printedBy("/receive");
    expect(printed).toContain('"id":"order-1/created","partitionKey":"order-1","duplicate":false');
    expect(printed).toContain('"attempt":1,"body":{"total": 42.0}');
  });

  test("explains every check of verify, and no other", () => {
    const [printed = ""] = printedBy("schema -- verify");
    const checked = [...printed.matchAll(/^(?:ok|warning|FAILED) +([^:]+): /gm)].map(([, name]) => name);
    expect(checked.length).toBeGreaterThan(10);
    const explained = firstColumnNames(section(DOCUMENT, "What `verify` checks"));
    expect([...explained].sort()).toEqual(checked.sort());
  });

  test("makes a secret and a token", () => {
    expect(printedBy("randomBytes")[0]).toMatch(/^[0-9a-f]{64}$/m);
    expect(printedBy("run --silent token")[0]).toMatch(/^[\w-]+\.[\w-]+\.[\w-]+$/m);
  });

  test("sends the Worker of the Vitess log, without an account", () => {
    const [printed] = printedBy("--dry-run --env vitess");
    expect(printed).toMatch(/env\.MESSAGE_LOG \("vitess"\)/);
    expect(printed).toMatch(/env\.COMMIT_HORIZON_MS \("120000"\)/);
  });

  test("restores what was copied", async () => {
    const messages = (database: string) => place.mariaDb.runSql(`SELECT * FROM ${database}.queue_messages`);
    const restored = await messages("fairlane_restored");
    expect(restored).toHaveLength(1);
    expect(restored).toEqual(await messages("fairlane"));
    const groups = await place.mariaDb.runSql("SELECT group_name FROM fairlane_restored.queue_groups");
    expect(groups).toEqual([{ group_name: "billing" }]);
  });

  test("resets the partition", () => {
    expect(printedBy("/offset")[0]).toContain('{"partitionKey":"order-1","acked":0}');
  });

  test("delivers everything again after the group was made anew", async () => {
    const printed = await place.paste(
      `call $topic/groups/billing/receive -d '{"subscriber": "worker-2", "waitMs": 5000}'`,
    );
    expect(printed).toContain('"id":"order-1/created"');
  });
});

describe("the reading of a document", () => {
  const fenced = (fence: string, before = "") => readBlocks(`${before}\n\n\`\`\`${fence}\nls\n\`\`\`\n`);

  test("finds a block that is neither run nor said to be not run", () => {
    expect(unclearBlocks(fenced("sh"))).toEqual(["line 3: neither run nor said to be not run"]);
    expect(unclearBlocks(fenced("json run"))).toHaveLength(1);
    expect(unclearBlocks(fenced("ini"))).toHaveLength(1);
  });

  test("finds a block that is run and says that it is not", () => {
    expect(unclearBlocks(fenced("sh run", "Needs an account. *Not run*:"))).toEqual([
      "line 3: is run and says that it is not",
    ]);
  });

  test("takes the words beside a block only", () => {
    expect(unclearBlocks(fenced("sh", "It is *not run*:"))).toEqual([]);
    expect(unclearBlocks(fenced("sh", "That is *not run*.\n\nThis is another paragraph."))).toHaveLength(1);
  });

  test("refuses a mark that it does not know, a fence that does not end, and output of nothing", () => {
    expect(() => fenced("sh runn")).toThrow("line 3");
    expect(() => readBlocks("```sh run\nls")).toThrow("line 1");
    expect(() => fenced("text")).toThrow("line 3");
  });

  test("compares what is printed line by line, numbers apart", () => {
    const printed = "one\nmade in 17 ms\nthree\nfour";
    expect(missingLine("one\nmade in 3 ms", printed)).toBeNull();
    expect(missingLine("one\n…\nfour", printed)).toBeNull();
    expect(missingLine("one\nfour", printed)).toBe("four");
    expect(missingLine("four\n…\none", printed)).toBe("one");
    expect(missingLine("one\nmade in many ms", printed)).toBe("made in many ms");
  });
});

function anchorOf(heading: string): string {
  return heading
    .toLowerCase()
    .replace(/[^\w -]/g, "")
    .replaceAll(" ", "-");
}

/** Names of the log lines in the sources, sorted. */
function loggedEvents(): string[] {
  const files = readdirSync(join(ROOT, "src"), { recursive: true, encoding: "utf8" });
  const events = new Set<string>();
  for (const file of files.filter((path) => path.endsWith(".ts"))) {
    const text = read(join("src", file));
    for (const [, logged, written] of text.matchAll(/logLine\("\w+", "([a-z-]+)"|event: "([a-z-]+)"/g))
      events.add((logged ?? written) as string);
  }
  return [...events].sort();
}
