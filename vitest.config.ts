import { cloudflareTest } from "@cloudflare/vitest-plugin";
import { defineConfig } from "vitest/config";

/** `npm run test:long` has some cases run for minutes. */
const FACTOR = process.env.FAIRLANE_TEST_LONG ? 60 : 1;
/** Long enough for a busy two-core machine; a test that needs more says so itself. */
const TEST_TIMEOUT_MS = 20_000 * FACTOR;
const LIVE_TIMEOUT_MS = 60_000 * FACTOR;

export default defineConfig({
  test: {
    projects: [
      {
        test: {
          name: "node",
          include: ["test/{unit,property,conformance,sim,tidy}/**/*.test.ts"],
          testTimeout: TEST_TIMEOUT_MS,
        },
      },
      {
        plugins: [
          cloudflareTest({
            wrangler: { configPath: "./wrangler.toml" },
            miniflare: { bindings: { AUTH_SECRET: "a-secret-of-the-tests-0123456789abcdef" } },
          }),
        ],
        test: {
          name: "workerd",
          include: ["test/{durable,workers}/**/*.test.ts"],
          testTimeout: TEST_TIMEOUT_MS,
        },
      },
      {
        test: {
          name: "live",
          include: ["test/live/**/*.test.ts"],
          testTimeout: LIVE_TIMEOUT_MS,
          hookTimeout: LIVE_TIMEOUT_MS,
          // Servers of several files at once would measure and time out on each other's load.
          fileParallelism: false,
        },
      },
      {
        test: {
          name: "vitess",
          include: ["test/vitess/**/*.test.ts"],
          testTimeout: LIVE_TIMEOUT_MS,
          hookTimeout: LIVE_TIMEOUT_MS,
          // Each file has a MariaDB of its own.
          fileParallelism: false,
        },
      },
    ],
  },
});
