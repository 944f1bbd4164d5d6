import { parseArgs } from "node:util";
import { simulate } from "./simulation.ts";
import { SUITES, suiteNamed } from "./suites.ts";

/**
 * Runs seeds and prints one line of JSON for each:
 *
 *   node test/sim/run-seeds.ts --from 0 --count 100 [--title G5] [--until G5] [--lines 200] [--suite late]
 *
 * `title` keeps the seeds of profiles whose title begins so; `until` ends at the first violation of a guarantee;
 * `suite` takes other profiles, see suites.ts;
 * `lines` prints that much of the end of each trace.
 */
const { values } = parseArgs({
  options: {
    from: { type: "string", default: "0" },
    count: { type: "string", default: "1" },
    title: { type: "string", default: "" },
    until: { type: "string" },
    lines: { type: "string", default: "0" },
    suite: { type: "string", default: "embedded" },
  },
});

const suite = suiteNamed(values.suite);
const { titles } = SUITES[suite];
const end = Number(values.from) + Number(values.count);
for (let seed = Number(values.from); seed < end; seed += 1) {
  if (!titles[seed % titles.length]?.startsWith(values.title)) continue;
  const { lines, ...summary } = await simulate(seed, suite);
  console.log(JSON.stringify(summary));
  const wanted = Number(values.lines);
  if (wanted > 0) console.log(lines.slice(-wanted).join("\n"));
  if (summary.violations.some(({ guarantee }) => guarantee === values.until)) break;
}
