import { mkdtempSync, realpathSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { delimiter, join, resolve } from "node:path";
import { type LocalServer, startLocalServer } from "../../src/local/local-server.ts";
import type { Block } from "../vitess/operations-document.ts";
import { ServerTerminal, Terminal } from "../vitess/operations-terminal.ts";

const ROOT = resolve(import.meta.dirname, "../..");
/** The server's address in the guide, whose port may be taken here. */
const SHOWN_URL = "http://127.0.0.1:8787";
const SHOWN_DATA = "../fairlane/.fairlane";

/** The name that a program's first line gives it. */
export function fileOf(block: Block): string | null {
  return block.language === "ts" ? (/^\/\/ ([\w-]+\.ts)\n/.exec(block.text)?.[1] ?? null) : null;
}

const ANYTHING = "…";

/**
 * The first line that the guide shows and a program did not print, or null. Where the guide says "…" any lines may
 * stand. Times and offsets, which no two runs share, may differ; other numbers may not.
 */
export function firstUnprinted(shown: string, printed: string): string | null {
  const lines = comparable(printed);
  let at = 0;
  let maySkip = false;
  for (const line of shown.split("\n")) {
    if (line === ANYTHING) {
      maySkip = true;
      continue;
    }
    const [wanted] = comparable(line);
    const found = maySkip ? lines.indexOf(wanted as string, at) : lines[at] === wanted ? at : -1;
    if (found < 0) return line;
    at = found + 1;
    maySkip = false;
  }
  const rest = maySkip ? [] : lines.slice(at).filter((line) => line !== "");
  return rest.length === 0 ? null : `nothing more, but it goes on: ${rest[0]}`;
}

function comparable(text: string): string[] {
  return text
    .replace(/\d{4}-\d\d-\d\dT[\d:.]+Z|\d{13,}/g, "N")
    .split("\n")
    .map((line) => line.trimEnd());
}

/** Where the guide is followed: a server, a folder with the checkout and the application in it, terminals. */
export class GuidePlace {
  /** The application's folder. */
  readonly shop: string;
  readonly server: LocalServer;
  /** What was run, block by block. */
  readonly done: { block: Block; printed: string }[] = [];
  private readonly folder: string;
  private readonly env: Record<string, string>;
  private readonly terminal: Terminal;
  private readonly serving: ServerTerminal[] = [];

  static async start(): Promise<GuidePlace> {
    const folder = realpathSync(mkdtempSync(join(tmpdir(), "fairlane-guide-")));
    const server = await startLocalServer({ dataDir: join(folder, "data") });
    return new GuidePlace(folder, server);
  }

  private constructor(folder: string, server: LocalServer) {
    this.folder = folder;
    this.shop = join(folder, "shop");
    this.server = server;
    symlinkSync(ROOT, join(folder, "fairlane"));
    const { PATH, ...inherited } = process.env as Record<string, string>;
    this.env = {
      ...Object.fromEntries(
        Object.entries(inherited).filter(([name]) => !/^(?:npm_|FAIRLANE|VITEST)/i.test(name)),
      ),
      // The Node that the project pins.
      PATH: [resolve(process.execPath, ".."), PATH].join(delimiter),
      // Nothing is fetched, and no profile of this machine is read.
      npm_config_offline: "true",
      npm_config_update_notifier: "false",
      XDG_CONFIG_HOME: join(folder, "config"),
      NO_COLOR: "1",
    };
    this.terminal = new Terminal({ folder, env: this.env });
  }

  /** Carries a block out; rejects when it fails or prints something else than the guide shows. */
  async run(block: Block): Promise<void> {
    const file = fileOf(block);
    let printed = "";
    if (file !== null) writeFileSync(join(this.shop, file), `${this.here(block.text)}\n`);
    // The server runs already: the test starts it on a port that is free.
    else if (block.mark === "serve" && !block.text.includes("npm start")) {
      const options = { folder: this.shop, env: this.serverEnv() };
      this.serving.push(await ServerTerminal.open(this.here(block.text), block.printed ?? "", options));
    } else if (block.mark === "run") printed = await this.runAndCompare(block);
    this.done.push({ block, printed });
  }

  /** In the first terminal, where the guide has come to. */
  paste(text: string): Promise<string> {
    return this.terminal.paste(text);
  }

  private async runAndCompare(block: Block): Promise<string> {
    const printed = await this.paste(this.here(block.text));
    const missing = block.printed === null ? null : firstUnprinted(block.printed, this.asShown(printed));
    if (missing !== null) throw new Error(`${block.text}\ndoes not print: ${missing}\nbut:\n${printed}`);
    return printed;
  }

  async close(): Promise<void> {
    for (const server of this.serving) await server.close();
    await this.terminal.close();
    await this.server.stop();
    rmSync(this.folder, { recursive: true, force: true });
  }

  /** A second terminal has the same variables as the first. */
  private serverEnv(): Record<string, string> {
    return { ...this.env, FAIRLANE_URL: this.server.url, FAIRLANE_TOKEN: this.server.token };
  }

  private here(text: string): string {
    return text.replaceAll(SHOWN_URL, this.server.url).replaceAll(SHOWN_DATA, this.server.dataDir);
  }

  private asShown(printed: string): string {
    return printed.replaceAll(this.server.url, SHOWN_URL);
  }
}
