import { runSchemaCommand } from "./schema/run-command.ts";

/** Makes, looks at and checks the Vitess log's tables on a server: see USAGE in schema/options.ts. */
process.exitCode = await runSchemaCommand(process.argv.slice(2), process.env, {
  say: (line) => process.stdout.write(`${line}\n`),
  complain: (line) => process.stderr.write(`${line}\n`),
});
