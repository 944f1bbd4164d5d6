import { spawnSync } from "node:child_process";
import { mkdirSync, rmSync } from "node:fs";
import { resolve } from "node:path";
import { mariaDbInstalled } from "../test/vitess/mariadb.ts";
import { REPORTS_FOLDER, readTotals, totalsLine } from "./test-totals.ts";

/** The test command. Runs every step, also after a failed one, and ends with the totals of the tests. */
const ROOT = resolve(import.meta.dirname, "..");

interface Step {
  name: string;
  /** The program and its arguments, for Node. */
  command: readonly string[];
  env?: Readonly<Record<string, string>>;
}

const BUILD: Step = { name: "build", command: ["scripts/build.ts"] };
const TYPECHECK: Step = { name: "typecheck", command: ["scripts/typecheck.ts"] };
const LINT: Step = {
  name: "lint and format",
  command: ["node_modules/@biomejs/biome/bin/biome", "check", "--error-on-warnings"],
};
const SCHEMA: Step = { name: "generated files", command: ["scripts/embed-schema.ts", "--check"] };
const SHARDS: Step = { name: "shard linter", command: ["scripts/lint-shards.ts"] };
/** Needs a database server on the machine. */
const VITESS = vitest("vitess", ["vitess"]);

/** What sets the length of the tests that have one, unless the environment says otherwise. */
const LONG = {
  PROPERTY_FACTOR: "20",
  FAIRLANE_LOG_RUNS: "3000",
  FAIRLANE_SIM_SEEDS: "5000",
  // Lifts the time limits of vitest.config.ts.
  FAIRLANE_TEST_LONG: "1",
};

const STEPS = new Map<string, readonly Step[]>([
  [
    "all",
    [
      BUILD,
      TYPECHECK,
      LINT,
      SCHEMA,
      SHARDS,
      vitest("inside", ["node", "workerd"]),
      vitest("live", ["live"]),
      VITESS,
    ],
  ],
  ["live", [BUILD, vitest("live", ["live"])]],
  ["vitess", [VITESS]],
  ["long", [BUILD, vitest("long", ["node", "workerd", "live", "vitess"], LONG)]],
]);

/** The tests of some projects of vitest.config.ts, with a report for the totals. */
function vitest(name: string, projects: readonly string[], env: Readonly<Record<string, string>> = {}): Step {
  return {
    name: `tests: ${projects.join(", ")}`,
    command: [
      "node_modules/vitest/vitest.mjs",
      "run",
      ...projects.flatMap((project) => ["--project", project]),
      "--reporter=default",
      "--reporter=json",
      `--outputFile.json=${resolve(REPORTS_FOLDER, `${name}.json`)}`,
    ],
    env,
  };
}

function run(step: Step): boolean {
  process.stdout.write(`\n== ${step.name}\n`);
  const startedMs = Date.now();
  const { status, error } = spawnSync(process.execPath, step.command, {
    cwd: ROOT,
    stdio: ["ignore", "inherit", "inherit"],
    env: { ...step.env, ...process.env },
  });
  if (error) throw error;
  const seconds = ((Date.now() - startedMs) / 1000).toFixed(1);
  process.stdout.write(`== ${step.name}: ${status === 0 ? "ok" : "FAILED"}, ${seconds} s\n`);
  return status === 0;
}

const [selection = "all"] = process.argv.slice(2);
const all = STEPS.get(selection);
if (!all) throw new Error(`unknown selection ${selection}: one of ${[...STEPS.keys()].join(", ")}`);
const mayRunVitess = selection !== "all" || process.env.CI === "true" || mariaDbInstalled();
const steps = all.filter((step) => step !== VITESS || mayRunVitess);
rmSync(REPORTS_FOLDER, { recursive: true, force: true });
mkdirSync(REPORTS_FOLDER, { recursive: true });
const failedSteps = steps.filter((step) => !run(step)).map((step) => step.name);
const totals = readTotals();
if (failedSteps.length > 0) process.stdout.write(`\nfailed: ${failedSteps.join("; ")}`);
if (totals.skipped > 0) process.stdout.write(`\n${totals.skipped} skipped: every test must run`);
if (!mayRunVitess) {
  process.stdout.write(
    "\nskipped: the tests of the Vitess log need mariadbd (Debian: apt-get install mariadb-server); then npm run test:vitess",
  );
}
process.stdout.write(`\n${totalsLine(totals)}\n`);
if (failedSteps.length > 0 || totals.failed > 0 || totals.skipped > 0) process.exitCode = 1;
