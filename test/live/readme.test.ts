import { execFile } from "node:child_process";
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type LocalServer, startLocalServer } from "../../src/local/local-server.ts";

const run = promisify(execFile);
const README = readFileSync("README.md", "utf8");
const LOCAL_URL = "http://127.0.0.1:8787";

interface Block {
  language: string;
  text: string;
}

/** The README's blocks of code, in order. */
function blocks(): Block[] {
  return [...README.matchAll(/^```(\w+)\n([\s\S]*?)^```$/gm)].map(([, language, text]) => ({
    language: language as string,
    text: (text as string).trim(),
  }));
}

/** What differs from run to run: receipts, offsets, times, epochs. */
function settled(reply: string): string {
  return reply
    .replace(/"receipt":"[^"]*"/g, '"receipt":"…"')
    .replace(/"(offset|publishedAt|visibleUntil|leaseEpoch)":\d+/g, '"$1":0');
}

describe("README.md, followed word by word", () => {
  let server: LocalServer;
  let dataDir: string;

  beforeAll(async () => {
    dataDir = mkdtempSync(join(tmpdir(), "fairlane-readme-"));
    server = await startLocalServer({ dataDir });
  });
  afterAll(async () => {
    await server.stop();
    rmSync(dataDir, { recursive: true, force: true });
  });

  const bash = async (command: string): Promise<string> => {
    const here = command
      .replaceAll(LOCAL_URL, server.url)
      .replaceAll(".fairlane/token", join(dataDir, "token"));
    return (await run("bash", ["-c", here])).stdout;
  };

  test("each curl does what the README says, and prints what it shows", async () => {
    const all = blocks();
    const curls = all.filter(({ language, text }) => language === "sh" && text.startsWith("curl"));
    expect(curls).toHaveLength(4);
    let receipt = "";
    for (const curl of curls) {
      const printed = await bash(curl.text.replaceAll("<receipt>", receipt));
      receipt = /"receipt":"([^"]+)"/.exec(printed)?.[1] ?? receipt;
      const shown = all[all.indexOf(curl) + 1];
      if (shown?.language === "json") expect(settled(printed)).toBe(settled(shown.text));
      else expect(JSON.parse(printed)).toMatchObject({ maxInFlightPerPartition: 1, createdBy: "admin" });
    }
  });

  test("each line of the command line does what the README says", async () => {
    const lines = blocks().filter(
      ({ language, text }) => language === "sh" && text.startsWith("npx fairlane"),
    );
    const [shell] = lines;
    expect(lines).toHaveLength(1);
    const env = { ...process.env, FAIRLANE_URL: server.url, FAIRLANE_DATA: dataDir, NO_COLOR: "1" };
    const printed = [];
    for (const line of shell?.text.split("\n") ?? [])
      printed.push((await run("bash", ["-c", line], { env })).stdout);
    const [published, stats, explained] = printed;
    expect(published).toContain("order-1/paid");
    expect(stats).toContain("billing");
    // The message before it is settled, and nobody receives.
    expect(explained).toMatch(/no live subscriber|no receive open/);
  });

  test("its program is right in its types, as its users' compiler sees it", async () => {
    const programs = blocks().filter(({ language }) => language === "ts");
    expect(programs).toHaveLength(1);
    const folder = mkdtempSync(join(tmpdir(), "fairlane-readme-types-"));
    try {
      writeFileSync(join(folder, "program.ts"), programs[0]?.text ?? "");
      const paths = { fairlane: [resolve("src/client/fairlane.ts")] };
      const compilerOptions = {
        noEmit: true,
        paths,
        typeRoots: [resolve("node_modules/@types")],
        types: ["node"],
      };
      writeFileSync(
        join(folder, "tsconfig.json"),
        JSON.stringify({
          extends: resolve("examples/tsconfig.json"),
          compilerOptions,
          include: ["program.ts"],
        }),
      );
      const { stdout } = await run(process.execPath, ["node_modules/typescript/bin/tsc", "-p", folder]);
      expect(stdout).toBe("");
    } finally {
      rmSync(folder, { recursive: true, force: true });
    }
  });

  test("the npm scripts that it names exist", () => {
    const { scripts } = JSON.parse(readFileSync("package.json", "utf8")) as {
      scripts: Record<string, string>;
    };
    const named = [...README.matchAll(/npm (?:run )?([a-z:]+)/g)].map(([, name]) => name as string);
    expect(named.length).toBeGreaterThan(5);
    for (const name of named) expect(Object.keys(scripts)).toContain(name);
  });

  test("the paths that it names exist", () => {
    const named = [...README.matchAll(/`((?:src|docs|schema|examples)\/[\w./-]*)`/g)].map(
      ([, path]) => path as string,
    );
    expect(named.length).toBeGreaterThan(5);
    for (const path of named) expect(existsSync(path), path).toBe(true);
  });
});
