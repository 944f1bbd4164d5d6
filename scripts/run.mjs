// The one entry of every npm script. Plain JavaScript for Node 20, because on a fresh clone nothing is
// installed yet: it installs what the lock file names, then goes on with the Node that the lock file pins.
import { spawn, spawnSync } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { delimiter, dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { installFits } from "./install-fits.mjs";
import { NEED_PAGE, PROGRAMS } from "./programs.mjs";

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const modules = join(root, "node_modules");
const pinnedNode = join(modules, "node", "bin", process.platform === "win32" ? "node.exe" : "node");
const OLDEST_NODE_MAJOR = 20;

function refuse(line) {
  process.stderr.write(`${line}\n`);
  process.exit(1);
}

function readJson(path) {
  return existsSync(path) ? JSON.parse(readFileSync(path, "utf8")) : null;
}

/** Installs with the npm that runs this script; its chatter, all on stderr, is shown only if it fails. */
function install() {
  process.stdout.write("Installing the packages of package-lock.json, once ...\n");
  const npm = process.env.npm_execpath;
  const args = ["ci", "--include=dev", "--no-audit", "--no-fund"];
  const options = {
    cwd: root,
    encoding: "utf8",
    stdio: ["ignore", "pipe", "pipe"],
    maxBuffer: 64 * 1024 * 1024,
  };
  const result =
    npm && /\.[cm]?js$/.test(npm)
      ? spawnSync(process.execPath, [npm, ...args], options)
      : spawnSync("npm", args, { ...options, shell: process.platform === "win32" });
  if (result.error) refuse(`npm could not be run (${result.error.message}): install npm and try again`);
  if (result.status !== 0) {
    process.stderr.write(result.stdout + result.stderr);
    refuse("npm ci failed: see above; it needs the package registry this once");
  }
  if (!existsSync(pinnedNode)) {
    refuse(
      "npm ran no install scripts, and the packages node, workerd and esbuild need theirs: set ignore-scripts=false",
    );
  }
}

/** The process that started this one, and its own parent where /proc says it. */
function ancestors() {
  try {
    const stat = readFileSync(`/proc/${process.ppid}/stat`, "utf8");
    return `${process.ppid} ${stat.slice(stat.lastIndexOf(")") + 4).split(" ")[0]}`;
  } catch {
    return `${process.ppid}`;
  }
}

const [command = "", ...rest] = process.argv.slice(2);
const program = PROGRAMS[command];
if (!program) refuse(`unknown command "${command}": one of ${Object.keys(PROGRAMS).join(", ")}`);
if (Number(process.versions.node.split(".")[0]) < OLDEST_NODE_MAJOR) {
  refuse(`Node ${OLDEST_NODE_MAJOR} or newer is needed; this is ${process.versions.node}`);
}
const fits = installFits(
  readJson(join(root, "package-lock.json")),
  readJson(join(modules, ".package-lock.json")),
);
if (!fits || !existsSync(pinnedNode)) install();

if (NEED_PAGE.has(command)) {
  const built = spawnSync(pinnedNode, [join(root, "scripts/build.ts"), "page"], {
    cwd: root,
    stdio: "inherit",
  });
  if (built.status !== 0) refuse("the dashboard does not build: see above");
}

/** Programs that serve until they are ended. */
const isServer = command === "start" || command === "gateway";

// The IPC channel tells the server that this process is gone, even when it was killed outright.
const child = spawn(pinnedNode, [join(root, program[0]), ...program.slice(1), ...rest], {
  // The command line takes paths as its user writes them.
  cwd: command === "fairlane" ? process.cwd() : root,
  stdio: isServer ? ["inherit", "inherit", "inherit", "ipc"] : "inherit",
  env: {
    ...process.env,
    FAIRLANE_CHANNEL: isServer ? "ipc" : "",
    PATH: [join(modules, ".bin"), process.env.PATH].filter(Boolean).join(delimiter),
  },
});
for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"]) process.on(signal, () => child.kill(signal));
// npm tells nobody when it is killed, and the shell between it and this process lives on: a server would keep
// its port. Both are looked at, the shell's parent where the system shows it.
if (isServer) {
  const before = ancestors();
  setInterval(() => {
    if (ancestors() !== before) process.exit(1);
  }, 200).unref();
}
child.on("error", (error) => refuse(`${pinnedNode} could not be run: ${error.message}`));
child.on("exit", (code, signal) => {
  process.exitCode = code ?? (signal ? 1 : 0);
});
