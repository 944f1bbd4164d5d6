import { once } from "node:events";
import { cpSync, mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync } from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { delimiter, join, resolve } from "node:path";
import { type MariaDb, startMariaDb } from "./mariadb.ts";
import { type Block, missingLine } from "./operations-document.ts";
import { ServerTerminal, Terminal } from "./operations-terminal.ts";

const ROOT = resolve(import.meta.dirname, "../..");
/** What a clone has, as far as an operator's commands need it. */
const CLONED = ["package.json", "package-lock.json", "wrangler.toml", "scripts", "src", "schema"];
/** The document's ports, which may be taken here. */
const PORTS = { database: "3306", gateway: "3900", server: "8787" } as const;

/** Where the document is followed: a clone of the project, a database server, terminals. */
export class OperationsPlace {
  readonly mariaDb: MariaDb;
  /** What was run, block by block. */
  readonly done: { block: Block; printed: string }[] = [];
  private readonly base: string;
  private readonly folder: string;
  private readonly ports: ReadonlyMap<string, number>;
  private readonly terminal: Terminal;
  private readonly servers: ServerTerminal[] = [];

  /** `settings`: the document's own for the database server. */
  static async start(settings: Block): Promise<OperationsPlace> {
    const mariaDb = await startMariaDb({ options: serverOptions(settings) });
    try {
      const ports = new Map<string, number>([[PORTS.database, mariaDb.port]]);
      for (const port of [PORTS.gateway, PORTS.server]) ports.set(port, await freePort());
      const place = new OperationsPlace(mariaDb, ports);
      place.done.push({ block: settings, printed: "" });
      return place;
    } catch (error) {
      await mariaDb.stop();
      throw error;
    }
  }

  private constructor(mariaDb: MariaDb, ports: ReadonlyMap<string, number>) {
    this.mariaDb = mariaDb;
    this.ports = ports;
    this.base = realpathSync(mkdtempSync(join(tmpdir(), "fairlane-operations-")));
    this.folder = join(this.base, "fairlane");
    mkdirSync(this.folder);
    for (const name of CLONED) cpSync(join(ROOT, name), join(this.folder, name), { recursive: true });
    symlinkSync(join(ROOT, "node_modules"), join(this.folder, "node_modules"), "dir");
    this.terminal = new Terminal(this.terminalOptions());
  }

  /** Carries a block out. Rejects when it fails, or prints something else than the document shows. */
  async run(block: Block): Promise<void> {
    const text = this.here(block.text);
    const shown = block.printed ?? "";
    let printed = "";
    if (block.mark === "serve") {
      this.servers.push(await ServerTerminal.open(text, shown, this.terminalOptions()));
    } else if (block.language === "sql") {
      for (const statement of text.split(/;\s*/).filter(Boolean)) await this.mariaDb.runSql(statement);
    } else {
      printed = await this.terminal.paste(text);
      const missing = block.printed === null ? null : missingLine(shown, printed);
      if (missing !== null) throw new Error(`line ${block.line}: not printed: ${missing}\n${printed}`);
    }
    this.done.push({ block, printed });
  }

  /** In the terminal where the document's commands were pasted. */
  paste(text: string): Promise<string> {
    return this.terminal.paste(this.here(text));
  }

  async close(): Promise<void> {
    await this.terminal.close();
    for (const server of this.servers.reverse()) await server.close();
    await this.mariaDb.stop();
    rmSync(this.base, { recursive: true, force: true });
  }

  private here(text: string): string {
    return text.replace(/\b(?:3306|3900|8787)\b/g, (port) => String(this.ports.get(port)));
  }

  private terminalOptions() {
    return {
      folder: this.folder,
      env: {
        PATH: pathOutside(),
        HOME: this.base,
        PORT: String(this.ports.get(PORTS.server)),
        WRANGLER_SEND_METRICS: "false",
      },
    };
  }
}

/** A stranger's PATH has no packages of ours. */
function pathOutside(): string {
  const folders = (process.env.PATH ?? "").split(delimiter);
  return folders.filter((folder) => !folder.includes("node_modules")).join(delimiter);
}

function serverOptions({ text }: Block): string[] {
  const [group, ...settings] = text.split("\n");
  if (group !== "[mariadbd]") throw new Error(`settings of ${group}, not of mariadbd`);
  return settings.map((line) => {
    const [name, value] = line.split(" = ");
    if (!name || !value) throw new Error(`not a setting: ${line}`);
    return `--${name}=${value}`;
  });
}

async function freePort(): Promise<number> {
  const server = createServer();
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const address = server.address();
  server.close();
  await once(server, "close");
  if (address === null || typeof address === "string") throw new Error("no port was given");
  return address.port;
}
