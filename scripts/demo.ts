import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { startLocalServer } from "../src/local/local-server.ts";
import { TenantApi } from "./demo/api.ts";
import { Narrator } from "./demo/narrator.ts";
import { crashedConsumer, failingNeighbour, orderedPartitions, poisonMessage } from "./demo/story.ts";

/**
 * A story of two minutes against a real server: its own, on a free port with a data folder that goes when the
 * story ends, so that it never meets your data. Exits with 1 when a check of the summary failed.
 */
const NEIGHBOUR_MS = 60_000;

const dataDir = mkdtempSync(join(tmpdir(), "fairlane-demo-"));
const server = await startLocalServer({ dataDir, tenants: ["demo", "acme", "globex"] });
let held = false;
try {
  const narrator = new Narrator();
  narrator.say(`a server of its own on ${server.url}; tenants demo, acme and globex`);
  const run = Date.now().toString(36);
  const [demo, acme, globex] = ["demo", "acme", "globex"].map(
    (tenant) => new TenantApi(server.url, server.token, tenant),
  ) as [TenantApi, TenantApi, TenantApi];
  await orderedPartitions(narrator, demo, "orders", run);
  await crashedConsumer(narrator, acme, "orders", run);
  await poisonMessage(narrator, demo, "orders", run);
  await failingNeighbour(narrator, globex, [demo, acme], "stock", run, NEIGHBOUR_MS);
  held = narrator.summary();
} finally {
  await server.stop();
  rmSync(dataDir, { recursive: true, force: true });
}
process.exitCode = held ? 0 : 1;
