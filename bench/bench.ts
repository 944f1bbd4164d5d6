import { readFileSync } from "node:fs";
import { cpus } from "node:os";
import { join } from "node:path";
import { type Figures, jsonOf, type Line, linesOf, tableOf } from "./figures.ts";
import { type ObjectOptions, type Options, parseOptions, UsageError, type VitessOptions } from "./options.ts";
import { measureEndToEnd } from "./phases/end-to-end.ts";
import { measureGrowth } from "./phases/growth.ts";
import { measureLatency } from "./phases/latency.ts";
import { measureNeighbour } from "./phases/neighbour.ts";
import { measurePublish } from "./phases/publish.ts";
import { measureRows } from "./phases/rows.ts";
import { measureSplit } from "./phases/split.ts";
import { FULL, QUICK } from "./sizes.ts";
import { vitessJson, vitessLines } from "./vitess/figures.ts";
import { measureVitess } from "./vitess/measure.ts";
import { MariaDbMissing } from "./vitess/place.ts";
import { FULL as VITESS_FULL, QUICK as VITESS_QUICK, USUAL as VITESS_USUAL } from "./vitess/sizes.ts";

interface Report {
  lines: Line[];
  json: Record<string, unknown>;
  /** Phases that could not be measured. */
  failed: readonly string[];
}

/** `npm run bench`: ends with 0 when everything was measured, whether or not the targets were met. */
async function main(options: Options): Promise<void> {
  const { lines, json, failed } =
    options.log === "object" ? await reportObject(options) : await reportVitess(options);
  const table = `${machine(options)}\n\n${tableOf(lines)}\n`;
  if (!options.json) process.stdout.write(table);
  else {
    process.stderr.write(table);
    process.stdout.write(`${JSON.stringify(json)}\n`);
  }
  if (failed.length === 0) return;
  process.stderr.write(`not measured: ${failed.join(", ")}\n`);
  process.exitCode = 1;
}

async function reportObject(options: ObjectOptions): Promise<Report> {
  const figures = await measure(options);
  return { lines: linesOf(figures), json: jsonOf(figures), failed: [] };
}

async function reportVitess({ quick, full, only }: VitessOptions): Promise<Report> {
  const sizes = quick ? VITESS_QUICK : full ? VITESS_FULL : VITESS_USUAL;
  const { figures, failed } = await measureVitess(only, sizes, progressFrom(performance.now()));
  return { lines: vitessLines(figures), json: vitessJson(figures, sizes, failed), failed };
}

function progressFrom(startedAtMs: number): (line: string) => void {
  return (line) => {
    const seconds = Math.round((performance.now() - startedAtMs) / 1000);
    process.stderr.write(`${String(seconds).padStart(4)} s  ${line}\n`);
  };
}

async function measure({ quick, only }: ObjectOptions): Promise<Figures> {
  const sizes = quick ? QUICK : FULL;
  const figures: Figures = {};
  const progress = progressFrom(performance.now());
  if (only.has("publish")) figures.publish = await measurePublish(sizes.publish, progress);
  let endToEndRate: number | null = null;
  // The neighbour runs at half of this rate.
  if (only.has("endToEnd") || only.has("neighbour")) {
    const found = await measureEndToEnd(sizes.endToEnd);
    progress(`end to end: ${Math.round(found.rate)} msg/s`);
    endToEndRate = found.rate;
    if (only.has("endToEnd")) figures.endToEnd = found;
  }
  if (only.has("latency")) {
    figures.latency = await measureLatency(sizes.latency);
    progress(`latency: p99 ${figures.latency.p99.toFixed(1)} ms`);
  }
  if (only.has("rows")) figures.rows = await measureRows(sizes.rows, progress);
  if (only.has("growth")) figures.growth = await measureGrowth(sizes.growth, progress);
  if (only.has("neighbour") && endToEndRate !== null) {
    figures.neighbour = await measureNeighbour(sizes.neighbour, endToEndRate / 2);
  }
  if (only.has("split")) figures.split = await measureSplit(sizes.split);
  progress("done");
  return figures;
}

/** What the figures depend on. */
function machine({ quick }: Options): string {
  const versionOf = (name: string): string => {
    const path = join(import.meta.dirname, "../node_modules", name, "package.json");
    return (JSON.parse(readFileSync(path, "utf8")) as { version: string }).version;
  };
  const [core] = cpus();
  return (
    `${cpus().length} cores (${core?.model.trim() ?? "unknown"}), Node ${process.versions.node}, ` +
    `workerd ${versionOf("workerd")}, ${new Date().toISOString().slice(0, 10)}` +
    `${quick ? "; --quick: too short and too small to compare with the targets" : ""}`
  );
}

try {
  await main(parseOptions(process.argv.slice(2)));
} catch (error) {
  if (error instanceof UsageError) process.exitCode = 2;
  else if (error instanceof MariaDbMissing) process.exitCode = 1;
  else throw error;
  process.stderr.write(`${error.message}\n`);
}
