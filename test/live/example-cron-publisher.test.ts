import { readFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { buildPackage } from "./example-programs.ts";
import { ExampleWorker, unnamedBindings } from "./example-worker.ts";
import { ids, type Live, setup } from "./harness.ts";

const FIRST_NIGHT = "2026-11-28T02:30:00.000Z";
const SECOND_NIGHT = "2026-11-29T02:30:00.000Z";

let live: Live;
let worker: ExampleWorker;
beforeAll(async () => {
  buildPackage();
  live = await setup();
  const variables = { FAIRLANE_URL: live.url, FAIRLANE_TENANT: "demo", FAIRLANE_TOKEN: live.token };
  worker = await ExampleWorker.start("cron-publisher/worker.ts", variables);
});
afterAll(async () => {
  await worker?.stop();
  await live?.close();
});

test("however often cron fires for a night, one request for its report is stored", async () => {
  expect(await worker.fireCron(Date.parse(FIRST_NIGHT))).toEqual({ ok: true });
  expect(await worker.fireCron(Date.parse(FIRST_NIGHT))).toEqual({ ok: true });
  // At the same time, too.
  const both = [SECOND_NIGHT, SECOND_NIGHT].map((night) => worker.fireCron(Date.parse(night)));
  expect(await Promise.all(both)).toEqual([{ ok: true }, { ok: true }]);
  const api = live.api("demo");
  const [first, second] = await api.receiveCount("report-requests", "reports", 2);
  expect([first?.body, second?.body]).toEqual([
    { report: "nightly-sales", plannedFor: FIRST_NIGHT },
    { report: "nightly-sales", plannedFor: SECOND_NIGHT },
  ]);
  expect(ids(await api.listMessages("report-requests"))).toHaveLength(2);
});

test("a run that could not publish fails, and says why", async () => {
  const variables = { FAIRLANE_URL: live.url, FAIRLANE_TENANT: "demo", FAIRLANE_TOKEN: "not-a-token" };
  const refused = await ExampleWorker.start("cron-publisher/worker.ts", variables);
  try {
    const { ok, reason } = await refused.fireCron(Date.parse(FIRST_NIGHT));
    expect(ok).toBe(false);
    expect(reason).toMatch(/401|unauthorized|token/i);
    expect(reason).not.toContain("not-a-token");
  } finally {
    await refused.stop();
  }
});

test("its ID is as its README shows it", async () => {
  const readme = readFileSync(
    join(resolve(import.meta.dirname, "../../examples"), "cron-publisher/README.md"),
    "utf8",
  );
  const [, shown] = /`(nightly-sales\/[^`]+)`/.exec(readme) ?? [];
  expect(ids(await live.api("demo").listMessages("report-requests"))).toContain(shown);
});

test("wrangler.toml names what the Worker needs", () => {
  expect(unnamedBindings("cron-publisher")).toEqual([]);
});
