import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { startLocalServer } from "../src/local/local-server.ts";
import { TenantApi } from "./demo/api.ts";
import { Narrator } from "./demo/narrator.ts";
import { crashedConsumer, failingNeighbour, orderedPartitions, poisonMessage } from "./demo/story.ts";

/**
 * A story of two minutes against the local server: the one that `npm start` runs, if it runs, else one of its own
 * whose data goes when the story ends. Its topics are named for the run. Exits with 1 when a check of the
 * summary failed. `--quick` shortens the last chapter.
 */
const NEIGHBOUR_MS = process.argv.includes("--quick") ? 5000 : 100_000;
const TENANTS = ["demo", "acme", "globex"] as const;

interface Server {
  url: string;
  token: string;
  what: string;
  stop(): Promise<void>;
}

/** null: none answers, or it is not one whose token we know. */
async function runningServer(): Promise<Server | null> {
  const url = `http://127.0.0.1:${process.env.PORT ?? "8787"}`;
  try {
    const token = readFileSync(join(process.env.FAIRLANE_DATA ?? ".fairlane", "token"), "utf8").trim();
    for (const tenant of TENANTS) await new TenantApi(url, token, tenant).topics();
    return { url, token, what: "the server that is running", stop: async () => {} };
  } catch {
    return null;
  }
}

async function ownServer(): Promise<Server> {
  const dataDir = mkdtempSync(join(tmpdir(), "fairlane-demo-"));
  const server = await startLocalServer({ dataDir, tenants: [...TENANTS] });
  const stop = async () => {
    await server.stop();
    rmSync(dataDir, { recursive: true, force: true });
  };
  return { url: server.url, token: server.token, what: "a server of its own", stop };
}

const server = (await runningServer()) ?? (await ownServer());
let held = false;
try {
  const narrator = new Narrator();
  narrator.say(`against ${server.what} on ${server.url}; tenants ${TENANTS.join(", ")}`);
  const run = Date.now().toString(36);
  const [orders, stock] = [`orders-${run}`, `stock-${run}`];
  const api = (tenant: string) => new TenantApi(server.url, server.token, tenant);
  await orderedPartitions(narrator, api("demo"), orders, run);
  await crashedConsumer(narrator, api("acme"), orders, run);
  await poisonMessage(narrator, api("demo"), orders, run);
  await failingNeighbour(narrator, api("globex"), [api("demo"), api("acme")], stock, run, NEIGHBOUR_MS);
  held = narrator.summary();
} finally {
  await server.stop();
}
process.exitCode = held ? 0 : 1;
