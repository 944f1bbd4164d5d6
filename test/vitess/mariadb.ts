import { type ChildProcess, spawn, spawnSync } from "node:child_process";
import { randomBytes } from "node:crypto";
import { once } from "node:events";
import { existsSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { delimiter, join } from "node:path";
import { createInterface } from "node:readline";
import { createConnection, type RowDataPacket } from "mysql2/promise";

/** Debian keeps the server in a folder that is not on everybody's PATH. */
const EXTRA_FOLDERS = ["/usr/sbin", "/usr/local/sbin", "/usr/libexec"];
const START_TIMEOUT_MS = 30_000;
/** A clean shutdown writes what is dirty in 256 MiB of buffer pool. */
const STOP_GRACE_MS = 15_000;
const KEPT_LOG_LINES = 200;
/** Somebody else may take the port between the look and the start. */
const START_TRIES = 5;
const USER = "fairlane";
/** As large as installed, so that the first start does not make it anew. */
const REDO_LOG = "48M";

export interface MariaDbOptions {
  /** 0 or absent: a free one. */
  port?: number;
  /** Further options of mariadbd, with their dashes. They win over ours. */
  options?: readonly string[];
}

/** True where `mariadbd` and `mariadb-install-db` can be run. */
export function mariaDbInstalled(): boolean {
  return findProgram("mariadbd") !== null && findProgram("mariadb-install-db") !== null;
}

/**
 * A MariaDB of its own: own data folder, socket and loopback port. It does not outlive this process. Every write is
 * on disk when it is answered, so `kill9` loses nothing that was.
 */
export async function startMariaDb(options: MariaDbOptions = {}): Promise<MariaDb> {
  const baseDir = mkdtempSync(join(tmpdir(), "fairlane-mariadb-"));
  try {
    install(join(baseDir, "data"));
    for (let left = START_TRIES - 1; ; left--) {
      const server = new MariaDb(baseDir, options.port || (await freePort()), options.options ?? []);
      try {
        await server.restart();
        return server;
      } catch (error) {
        const taken = error instanceof Error && error.message.includes("Address already in use");
        if (left === 0 || options.port || !taken) throw error;
      }
    }
  } catch (error) {
    rmSync(baseDir, { recursive: true, force: true });
    throw error;
  }
}

export class MariaDb {
  readonly port: number;
  readonly dataDir: string;
  readonly #baseDir: string;
  readonly #options: readonly string[];
  readonly #password = randomBytes(12).toString("hex");
  #process: { child: ChildProcess; exited: Promise<unknown>; endWatch: () => void } | null = null;
  readonly #log: string[] = [];

  constructor(baseDir: string, port: number, options: readonly string[]) {
    this.#baseDir = baseDir;
    this.dataDir = join(baseDir, "data");
    this.port = port;
    this.#options = options;
  }

  /** Throws while the server is not running. */
  get pid(): number {
    const pid = this.#process?.child.pid;
    if (pid === undefined) throw new Error("MariaDB is not running");
    return pid;
  }

  /** `mysql://USER:PASSWORD@HOST:PORT/DATABASE`. The user may do everything. */
  dsn(database: string): string {
    return `mysql://${USER}:${this.#password}@127.0.0.1:${this.port}/${database}`;
  }

  /** Makes the database if it is missing and returns its DSN. */
  async createDatabase(name: string): Promise<string> {
    await this.runSql(
      `CREATE DATABASE IF NOT EXISTS \`${name}\` CHARACTER SET utf8mb4 COLLATE utf8mb4_general_ci`,
    );
    return this.dsn(name);
  }

  /** Runs one statement on a connection of its own. Rows of a result, [] for anything else. 64-bit numbers are strings. */
  async runSql(sql: string, database?: string): Promise<Record<string, unknown>[]> {
    const connection = await createConnection({
      host: "127.0.0.1",
      port: this.port,
      user: USER,
      password: this.#password,
      ...(database === undefined ? {} : { database }),
      supportBigNumbers: true,
      bigNumberStrings: true,
      timezone: "Z",
    });
    try {
      const [rows] = await connection.query<RowDataPacket[]>(sql);
      return Array.isArray(rows) ? rows : [];
    } finally {
      connection.destroy();
    }
  }

  /** The server's counters with such names (LIKE), e.g. `Handler_read%`. */
  async globalStatus(pattern: string): Promise<Record<string, number>> {
    const rows = await this.runSql(`SHOW GLOBAL STATUS LIKE '${pattern.replaceAll("'", "''")}'`);
    return Object.fromEntries(rows.map((row) => [String(row.Variable_name), Number(row.Value)]));
  }

  /** Ends it as a power cut would, and waits until it is gone. */
  async kill9(): Promise<void> {
    await this.#end("SIGKILL");
  }

  /** Starts it on the same data, port and settings; stops it first if it is running. */
  async restart(): Promise<void> {
    if (this.#process) await this.#end("SIGTERM");
    const child = spawn(program("mariadbd"), this.#arguments(), {
      stdio: ["ignore", "ignore", "pipe"],
      // Ctrl-C in a terminal reaches this process only.
      detached: true,
    });
    await once(child, "spawn");
    const endWatch = watchOver(child.pid as number, this.#baseDir);
    const exited = once(child, "exit").then(() => endWatch());
    this.#process = { child, exited, endWatch };
    await this.#ready(child, exited);
  }

  /** Ends it in order and removes its data. */
  async stop(): Promise<void> {
    if (this.#process) await this.#end("SIGTERM");
    rmSync(this.#baseDir, { recursive: true, force: true });
  }

  async #end(signal: NodeJS.Signals): Promise<void> {
    const running = this.#process;
    if (!running) return;
    this.#process = null;
    running.child.kill(signal);
    const timer = setTimeout(() => running.child.kill("SIGKILL"), STOP_GRACE_MS);
    await running.exited;
    clearTimeout(timer);
  }

  /** Settles when it takes connections; the log says so after the init file was run. */
  async #ready(child: ChildProcess, exited: Promise<unknown>): Promise<void> {
    const lines = createInterface({ input: child.stderr as NodeJS.ReadableStream });
    let timer: NodeJS.Timeout | undefined;
    const outcome = await new Promise<"ready" | "ended" | "late">((resolve) => {
      lines.on("line", (line) => {
        this.#log.push(line);
        if (this.#log.length > KEPT_LOG_LINES) this.#log.shift();
        if (line.includes("ready for connections")) resolve("ready");
      });
      void exited.then(() => resolve("ended"));
      timer = setTimeout(() => resolve("late"), START_TIMEOUT_MS);
    });
    clearTimeout(timer);
    if (outcome === "ready") return;
    await this.#end("SIGKILL");
    throw new Error(`MariaDB did not start (${outcome}):\n${this.#log.slice(-20).join("\n")}`);
  }

  #arguments(): string[] {
    const account = `'${USER}'@'127.0.0.1'`;
    return [
      "--no-defaults",
      ...asRoot(),
      `--datadir=${this.dataDir}`,
      `--socket=${join(this.#baseDir, "socket")}`,
      `--pid-file=${join(this.#baseDir, "pid")}`,
      `--port=${this.port}`,
      "--bind-address=127.0.0.1",
      "--skip-name-resolve",
      "--innodb-buffer-pool-size=256M",
      `--innodb-log-file-size=${REDO_LOG}`,
      "--max-allowed-packet=64M",
      "--max-connections=300",
      "--key-buffer-size=1M",
      "--aria-pagecache-buffer-size=8M",
      "--character-set-server=utf8mb4",
      `--init-file=${this.#writeInitFile(account)}`,
      ...this.#options,
    ];
  }

  #writeInitFile(account: string): string {
    const path = join(this.#baseDir, "init.sql");
    const statements = [
      `CREATE USER IF NOT EXISTS ${account} IDENTIFIED BY '${this.#password}'`,
      `GRANT ALL ON *.* TO ${account} WITH GRANT OPTION`,
    ];
    writeFileSync(path, statements.map((statement) => `${statement};\n`).join(""), { mode: 0o600 });
    return path;
  }
}

function install(dataDir: string): void {
  const result = spawnSync(
    program("mariadb-install-db"),
    [
      "--no-defaults",
      ...asRoot(),
      `--datadir=${dataDir}`,
      "--auth-root-authentication-method=normal",
      "--skip-test-db",
      "--skip-name-resolve",
      `--innodb-log-file-size=${REDO_LOG}`,
    ],
    { encoding: "utf8" },
  );
  if (result.status !== 0) {
    throw new Error(`mariadb-install-db failed: ${result.error?.message ?? result.stdout + result.stderr}`);
  }
}

/** mariadbd refuses to run as root unless told so; as anybody else it may not be told. */
function asRoot(): string[] {
  return process.getuid?.() === 0 ? ["--user=root"] : [];
}

function program(name: string): string {
  const path = findProgram(name);
  if (path === null) throw new Error(`${name} is not installed (Debian: apt-get install mariadb-server)`);
  return path;
}

function findProgram(name: string): string | null {
  const folders = [...(process.env.PATH ?? "").split(delimiter), ...EXTRA_FOLDERS];
  return folders.map((folder) => join(folder, name)).find((path) => existsSync(path)) ?? null;
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

/**
 * A shell that waits for the end of a pipe which only this process holds open: when this process is killed outright,
 * the shell kills the server and removes its data. Returns how to call it off.
 */
function watchOver(pid: number, baseDir: string): () => void {
  const watch = spawn("/bin/sh", ["-c", 'read -r _; kill -9 "$1"; rm -rf "$2"', "sh", String(pid), baseDir], {
    stdio: ["pipe", "ignore", "ignore"],
    detached: true,
  });
  // Without a shell the server still stops in every orderly way.
  watch.on("error", () => {});
  watch.unref();
  return () => {
    watch.kill("SIGKILL");
  };
}
