import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { BUNDLE_FILE, bundleWorker, CRON_ENTRYPOINT } from "../../src/local/worker-bundle.ts";
import { COMPATIBILITY_DATE } from "../../src/local/workerd-config.ts";
import { WorkerdProcess } from "../../src/local/workerd-process.ts";

const EXAMPLES = resolve(import.meta.dirname, "../../examples");
const CONFIG = "example";

/** An example's Worker in the runtime, by itself. */
export class ExampleWorker {
  readonly url: string;
  readonly #cronUrl: string;
  readonly #workerd: WorkerdProcess;
  readonly #folder: string;

  /** `path` is absolute, or relative to the folder of the examples; `variables` are its bindings, plain ASCII. */
  static async start(path: string, variables: Readonly<Record<string, string>>): Promise<ExampleWorker> {
    const folder = mkdtempSync(join(tmpdir(), "fairlane-example-"));
    await bundleWorker(resolve(EXAMPLES, path), folder);
    const configPath = join(folder, "workerd.capnp");
    writeFileSync(configPath, configOf(variables));
    const workerd = await WorkerdProcess.spawn(configPath, CONFIG, ["http", "cron"]);
    const ports = await workerd.ports();
    if (!ports) throw new Error(`${path} does not start:\n${workerd.output()}`);
    return new ExampleWorker(workerd, ports.get("http") as number, ports.get("cron") as number, folder);
  }

  private constructor(workerd: WorkerdProcess, port: number, cronPort: number, folder: string) {
    this.#workerd = workerd;
    this.url = `http://127.0.0.1:${port}`;
    this.#cronUrl = `http://127.0.0.1:${cronPort}`;
    this.#folder = folder;
  }

  /** What it logged. */
  output(): string {
    return this.#workerd.output();
  }

  /** Fires cron, as the platform does at the planned time. */
  async fireCron(scheduledTime: number): Promise<{ ok: boolean; reason?: string }> {
    const body = JSON.stringify({ cron: "30 2 * * *", scheduledTime });
    const reply = await fetch(this.#cronUrl, { method: "POST", body });
    return (await reply.json()) as { ok: boolean; reason?: string };
  }

  async stop(): Promise<void> {
    await this.#workerd.kill("SIGKILL");
    rmSync(this.#folder, { recursive: true, force: true });
  }
}

/** What an example's Worker reads of its `Env`, and its wrangler.toml neither sets nor names. */
export function unnamedBindings(example: string): string[] {
  const read = (file: string) => readFileSync(join(EXAMPLES, example, file), "utf8");
  const [, env = ""] = /^interface Env \{\n([\s\S]*?)^\}$/m.exec(read("worker.ts")) ?? [];
  const names = [...env.matchAll(/^ {2}(\w+)\??:/gm)].map(([, name]) => name as string);
  if (names.length === 0) throw new Error(`${example} has no Env`);
  const settings = read("wrangler.toml");
  return names.filter((name) => !new RegExp(`\\b${name}\\b`).test(settings));
}

/** It may call this machine only. */
function configOf(variables: Readonly<Record<string, string>>): string {
  const bindings = Object.entries(variables).map(
    ([name, value]) => `(name = ${JSON.stringify(name)}, text = ${JSON.stringify(value)})`,
  );
  return `using Workerd = import "/workerd/workerd.capnp";

const ${CONFIG} :Workerd.Config = (
  services = [
    (name = "worker", worker = .worker),
    (name = "internet", network = (allow = ["local"])),
  ],
  sockets = [
    (name = "http", address = "127.0.0.1:0", http = (), service = "worker"),
    (name = "cron", address = "127.0.0.1:0", http = (),
      service = (name = "worker", entrypoint = "${CRON_ENTRYPOINT}")),
  ],
);

const worker :Workerd.Worker = (
  modules = [(name = "worker.js", esModule = embed "${BUNDLE_FILE}")],
  compatibilityDate = "${COMPATIBILITY_DATE}",
  bindings = [${bindings.join(", ")}],
);
`;
}
