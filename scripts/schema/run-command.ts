import { sqlFiles, VITESS_SCHEMA } from "../lint-shards/project-schema.ts";
import { applyTables, type Say } from "./apply-tables.ts";
import { connect, errorText, type SchemaConnection, SchemaRefusal } from "./connection.ts";
import { type Options, readOptions, USAGE, UsageError } from "./options.ts";
import { stateLine, tableFiles, tableStates } from "./table-states.ts";
import { verifyServer } from "./verify-server.ts";

export const EXIT = { ok: 0, failed: 1, usage: 2 } as const;

export interface Terminal {
  say: Say;
  /** What went wrong, one line. */
  complain: Say;
}

/** The schema tool. Returns the exit code; what goes wrong outside of it is thrown. */
export async function runSchemaCommand(
  args: readonly string[],
  env: Readonly<Record<string, string | undefined>>,
  terminal: Terminal,
): Promise<number> {
  let options: Options | null;
  try {
    options = readOptions(args, env);
  } catch (error) {
    if (!(error instanceof UsageError)) throw error;
    terminal.complain(`schema: ${error.message}`);
    return EXIT.usage;
  }
  if (!options) {
    terminal.say(USAGE);
    return EXIT.ok;
  }
  let connection: SchemaConnection | null = null;
  try {
    connection = await connect(options.address);
    return (await runOn(connection, options, terminal.say)) ? EXIT.ok : EXIT.failed;
  } catch (error) {
    if (!(error instanceof SchemaRefusal) && !isFromServer(error)) throw error;
    terminal.complain(
      `schema ${options.command}: ${error instanceof SchemaRefusal ? error.message : errorText(error)}`,
    );
    return EXIT.failed;
  } finally {
    connection?.close();
  }
}

async function runOn(connection: SchemaConnection, options: Options, say: Say): Promise<boolean> {
  const files = tableFiles(sqlFiles(VITESS_SCHEMA));
  const { command, dryRun, horizonMs } = options;
  switch (command) {
    case "apply":
      await applyTables(connection, files, { dryRun, say });
      return true;
    case "status": {
      const states = await tableStates(connection, files);
      for (const state of states) say(stateLine(state));
      return states.every(({ kind }) => kind === "present");
    }
    case "verify":
      return verifyServer(connection, files, { horizonMs, say });
  }
}

/** The driver's errors have a code and what the server said, or that it is gone. */
function isFromServer(error: unknown): boolean {
  return (
    error instanceof Error && "code" in error && ["errno", "fatal", "syscall"].some((field) => field in error)
  );
}
