import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { createRequire } from "node:module";
import { createInterface } from "node:readline";
import type { Readable } from "node:stream";
import type { SocketName } from "./workerd-config.ts";

// The package has no types, and names its binary for this platform in a CommonJS export.
const { default: workerdBinary } = createRequire(import.meta.url)("workerd") as { default: string };

/** Enough for the last failure's stack, little enough to hold for weeks. */
const KEPT_OUTPUT_CHARS = 64 * 1024;
/** Requests under way get so long; a kept connection or a waiting receive would hold the port for ever. */
const STOP_GRACE_MS = 1500;
const CONTROL_FD = 3;

export type OutputListener = (stream: "stdout" | "stderr", text: string) => void;

export interface WorkerdExit {
  code: number | null;
  signal: NodeJS.Signals | null;
}

/** One running `workerd serve`. It does not outlive this process, however this process ends. */
export class WorkerdProcess {
  readonly pid: number;
  /** Settles when the process is gone; never fails. */
  readonly exited: Promise<WorkerdExit>;
  readonly #child: ChildProcess;
  readonly #ports: Promise<Map<SocketName, number>>;
  readonly #onOutput: OutputListener | undefined;
  #output = "";

  /** Throws when the binary cannot be run. */
  static async spawn(
    configPath: string,
    configName: string,
    sockets: readonly SocketName[],
    onOutput?: OutputListener,
  ): Promise<WorkerdProcess> {
    const child = spawn(workerdBinary, ["serve", configPath, configName, `--control-fd=${CONTROL_FD}`], {
      stdio: ["ignore", "pipe", "pipe", "pipe"],
      // A group of its own: Ctrl-C in a terminal reaches this process only, which then stops it in order.
      detached: true,
    });
    await once(child, "spawn");
    return new WorkerdProcess(child, sockets, onOutput);
  }

  private constructor(child: ChildProcess, sockets: readonly SocketName[], onOutput?: OutputListener) {
    this.#child = child;
    this.#onOutput = onOutput;
    this.pid = child.pid as number;
    const endWatch = watchOver(this.pid);
    this.exited = new Promise((resolve) => {
      child.once("exit", (code, signal) => {
        endWatch();
        resolve({ code, signal });
      });
    });
    this.#collect("stdout");
    this.#collect("stderr");
    this.#ports = readPorts(child.stdio[CONTROL_FD] as Readable, sockets);
  }

  /** The port of each socket once all listen; null when the process ended before. */
  async ports(): Promise<ReadonlyMap<SocketName, number> | null> {
    return Promise.race([this.#ports, this.exited.then(() => null)]);
  }

  /** The last of what it printed, both streams together. */
  output(): string {
    return this.#output;
  }

  async kill(signal: NodeJS.Signals): Promise<WorkerdExit> {
    this.#child.kill(signal);
    return this.exited;
  }

  /** Lets requests under way end for a while, then ends them. */
  async stop(): Promise<WorkerdExit> {
    const timer = setTimeout(() => this.#child.kill("SIGKILL"), STOP_GRACE_MS);
    try {
      return await this.kill("SIGTERM");
    } finally {
      clearTimeout(timer);
    }
  }

  #collect(stream: "stdout" | "stderr"): void {
    const source = this.#child[stream] as Readable;
    source.setEncoding("utf8");
    source.on("data", (text: string) => {
      this.#output = (this.#output + text).slice(-KEPT_OUTPUT_CHARS);
      this.#onOutput?.(stream, text);
    });
  }
}

/** Lines of JSON on the control descriptor, one a socket. Stays pending when the process ends before all. */
function readPorts(control: Readable, sockets: readonly SocketName[]): Promise<Map<SocketName, number>> {
  return new Promise((resolve) => {
    const ports = new Map<SocketName, number>();
    createInterface({ input: control }).on("line", (line) => {
      const message = JSON.parse(line) as { event: string; socket: SocketName; port: number };
      if (message.event !== "listen") return;
      ports.set(message.socket, message.port);
      if (sockets.every((socket) => ports.has(socket))) resolve(ports);
    });
  });
}

/**
 * A shell that waits for the end of a pipe which only this process holds open: when this process is
 * killed outright, the shell kills the runtime. Returns how to call it off.
 */
function watchOver(pid: number): () => void {
  if (process.platform === "win32") return () => {};
  const watch = spawn("/bin/sh", ["-c", 'read -r _; kill -9 "$1"', "sh", String(pid)], {
    stdio: ["pipe", "ignore", "ignore"],
    detached: true,
  });
  // Without a shell the runtime still runs and stops in every orderly way.
  watch.on("error", () => {});
  watch.unref();
  return () => {
    watch.kill("SIGKILL");
  };
}
