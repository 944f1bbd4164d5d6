import { simulate } from "./simulation.ts";

/**
 * Runs seeds and prints one line of JSON for each: `node test/sim/run-seeds.ts <from> <count> [lines]`.
 * With `lines`, the end of each trace as well.
 */
const [from = "0", count = "1", lines = "0"] = process.argv.slice(2);
for (let seed = Number(from); seed < Number(from) + Number(count); seed += 1) {
  const result = await simulate(seed);
  const { lines: trace, ...summary } = result;
  console.log(JSON.stringify(summary));
  if (Number(lines) > 0) console.log(trace.slice(-Number(lines)).join("\n"));
}
