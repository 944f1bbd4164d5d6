import { join } from "node:path";
import { build } from "esbuild";
import { StartRefusal } from "./start-refusal.ts";

export const BUNDLE_FILE = "worker.js";
/** The entrypoint that the bundle adds for the launcher; the platform has its own way to fire cron. */
export const CRON_ENTRYPOINT = "LocalCron";

/** Bundles the Worker whose entry is at the absolute path `entry` into `folder`. Throws a StartRefusal. */
export async function bundleWorker(entry: string, folder: string): Promise<void> {
  try {
    await build({
      stdin: { contents: withLocalCron(entry), resolveDir: process.cwd(), sourcefile: "local-entry.js" },
      outfile: join(folder, BUNDLE_FILE),
      bundle: true,
      format: "esm",
      target: "es2024",
      platform: "browser",
      conditions: ["workerd", "worker", "browser"],
      external: ["cloudflare:*", "node:*"],
      logLevel: "silent",
    });
  } catch (error) {
    throw new StartRefusal(`the Worker ${entry} does not build: ${firstLines(error)}`);
  }
}

/**
 * The runtime fires no cron, and lets one Worker call another's `scheduled` only as an experimental
 * feature. This entrypoint runs in the Worker itself and answers with the failure's own words.
 */
function withLocalCron(entry: string): string {
  const path = JSON.stringify(entry);
  return `
import { WorkerEntrypoint } from "cloudflare:workers";
import worker from ${path};
export * from ${path};
export { default } from ${path};
export class ${CRON_ENTRYPOINT} extends WorkerEntrypoint {
  async fetch(request) {
    const controller = { ...(await request.json()), noRetry() {} };
    try {
      await worker.scheduled(controller, this.env, this.ctx);
      return Response.json({ ok: true });
    } catch (error) {
      return Response.json({ ok: false, reason: String(error instanceof Error ? error.message : error) });
    }
  }
}
`;
}

const SHOWN_LINES = 3;

function firstLines(error: unknown): string {
  const text = error instanceof Error ? error.message : String(error);
  return text.split("\n").slice(0, SHOWN_LINES).join(" ").trim();
}
