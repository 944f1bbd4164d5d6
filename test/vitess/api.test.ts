import { readdirSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { useServerLog } from "../live/harness.ts";
import { ServerPlace } from "./server-place.ts";

// The suites of test/live on servers with the Vitess log, by the same definitions. Each starts a server of its own, with
// a database of its own in one MariaDB.

const LIVE = join(import.meta.dirname, "../live");
const SUFFIX = ".test.ts";
/**
 * They are about start-up, documents and npm, start no server, look at the same calls from further away, at requests
 * that are refused before any log is asked, or at an object that has none; everything else speaks HTTP to one.
 */
const WITHOUT_LOG =
  /^(?:api-splits|auth-off|bad-|cli-|dashboard|demo|example-|first-start|guide|kill-audit|npm-killed|openapi-broken|readme)/;
/**
 * With the default horizon a settled message stays for two minutes at least: collection is tested with the shortest,
 * and then by the same figures as with the embedded log.
 */
const HORIZONS_MS: Readonly<Record<string, number>> = { "guarantee-collection": 1000 };

const suites = readdirSync(LIVE)
  .filter((file) => file.endsWith(SUFFIX) && !WITHOUT_LOG.test(file))
  .map((file) => file.slice(0, -SUFFIX.length));

let place: ServerPlace;
beforeAll(async () => {
  place = await ServerPlace.start({ durable: false });
});
afterAll(() => place?.stop());

test("there are suites", () => {
  expect(suites.length).toBeGreaterThan(15);
  expect(suites).toEqual(expect.arrayContaining(Object.keys(HORIZONS_MS)));
});

for (const suite of suites) {
  describe(suite, async () => {
    const commitHorizonMs = HORIZONS_MS[suite];
    beforeAll(() => useServerLog(place.serverLog(commitHorizonMs === undefined ? {} : { commitHorizonMs })));
    await import(join(LIVE, suite + SUFFIX));
  });
}
