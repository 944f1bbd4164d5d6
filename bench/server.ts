import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { type LocalServer, startLocalServer } from "../src/local/local-server.ts";

/** The busy tenant and its quiet neighbour. */
export const TENANT = "bench";
export const NEIGHBOUR = "busy";

/** Serves on a fresh data folder while `use` runs. `entry` null: the product's Worker. `env`: further variables. */
export async function withServer<T>(
  entry: string | null,
  use: (server: LocalServer) => Promise<T>,
  env: Readonly<Record<string, string>> = {},
): Promise<T> {
  const dataDir = await mkdtemp(join(tmpdir(), "fairlane-bench-"));
  try {
    const server = await startLocalServer({
      dataDir,
      tenants: [TENANT, NEIGHBOUR],
      env,
      ...(entry === null ? {} : { entry: resolve(import.meta.dirname, entry) }),
      onOutput: (_stream, text) => process.stderr.write(text),
    });
    try {
      return await use(server);
    } finally {
      await server.kill();
    }
  } finally {
    await rm(dataDir, { recursive: true, force: true });
  }
}
