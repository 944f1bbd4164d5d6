import { vitessStatements } from "../src/log/vitess/statements.ts";
import { lintShards, projectInput } from "./lint-shards/lint-project.ts";
import { violationLine } from "./lint-shards/violation.ts";

/**
 * The shard linter: what schema/ and the Vitess log's statements must keep to, so that each statement stays on its
 * tenant's shard. One line for each violation, then what was looked at. Exits with 1 where there is a violation.
 */
const { violations, checked } = lintShards(projectInput(vitessStatements()));
for (const violation of violations) process.stdout.write(`${violationLine(violation)}\n`);
const { tables, keys, statements, sourceTexts } = checked;
process.stdout.write(
  `${tables} tables, ${keys} keys, ${statements} statements and ${sourceTexts} texts with SQL checked: ` +
    `${violations.length === 0 ? "all in order" : `${violations.length} violations`}\n`,
);
if (violations.length > 0) process.exitCode = 1;
