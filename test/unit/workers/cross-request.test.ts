import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type LocalServer, startLocalServer } from "../../../src/local/local-server.ts";
import { CARRIER_TERM_MS, DELIVERY_WAIT_MS, HINT_DEADLINE_MS } from "../../../src/workers/hints.ts";

let server: LocalServer;
let dataDir: string;
beforeAll(async () => {
  dataDir = await mkdtemp(join(tmpdir(), "fairlane-hints-"));
  server = await startLocalServer({ dataDir, entry: resolve(import.meta.dirname, "hinting-worker.ts") });
});
afterAll(async () => {
  await server.kill();
  await rm(dataDir, { recursive: true, force: true });
});

type Offsets = { lowest: number; highest: number };

async function ask(
  path: string,
  topic: string,
  offset: number,
): Promise<{ waitedMs: number; sent: Offsets[] }> {
  const reply = await fetch(`${server.url}${path}?topic=${topic}&offset=${offset}`);
  return (await reply.json()) as { waitedMs: number; sent: Offsets[] };
}

/** The runtime keeps requests apart: a timer or a call of one cannot be used by another. */
describe("in the runtime, requests of one isolate", () => {
  test("wait for a hint that another one carries", async () => {
    await ask("/hint", "carried", 10);
    const waits = await Promise.all([11, 12, 13].map((offset) => ask("/wait", "carried", offset)));
    for (const { waitedMs } of waits) expect(waitedMs).toBeLessThan(DELIVERY_WAIT_MS);
    const { sent } = await ask("/healthz", "", 0);
    const told = sent.filter(({ lowest }) => lowest >= 10 && lowest < 20);
    expect(told[0]).toEqual({ lowest: 10, highest: 10 });
    for (const offset of [11, 12, 13]) {
      expect(told.some(({ lowest, highest }) => lowest <= offset && offset <= highest)).toBe(true);
    }
  });

  test("take over from one whose context has ended with its call under way", async () => {
    await ask("/die", "dead", 20);
    const sinceMs = Date.now();
    const first = await ask("/wait", "dead", 21);
    expect(first.waitedMs).toBeGreaterThanOrEqual(DELIVERY_WAIT_MS);
    let last = first;
    while (last.waitedMs >= DELIVERY_WAIT_MS && Date.now() - sinceMs < 4 * CARRIER_TERM_MS) {
      last = await ask("/wait", "dead", 22);
    }
    expect(last.waitedMs).toBeLessThan(DELIVERY_WAIT_MS);
    expect(Date.now() - sinceMs).toBeLessThan(CARRIER_TERM_MS + HINT_DEADLINE_MS);
    expect(last.sent.filter(({ lowest }) => lowest >= 20)).toEqual([
      { lowest: 20, highest: 20 },
      { lowest: 21, highest: 22 },
    ]);
  });
});
