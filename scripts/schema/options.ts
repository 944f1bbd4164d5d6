import { parseArgs } from "node:util";
import { type DatabaseAddress, parseAddress } from "./address.ts";

export const COMMANDS = ["apply", "status", "verify"] as const;
export type Command = (typeof COMMANDS)[number];

/** As COMMIT_HORIZON_MS has them; a test compares the two. */
export const DEFAULT_HORIZON_MS = 120_000;
const MIN_HORIZON_MS = 1000;
const MAX_HORIZON_MS = 3_600_000;

export const USAGE = `usage: npm run schema -- apply|status|verify --dsn mysql://USER:PASS@HOST:PORT/DB
  apply    make the tables that are missing; --dry-run prints the statements and changes nothing
  status   say of each table whether it is present, missing or different
  verify   status, and whether the server's settings are what Fairlane needs;
           --horizon-ms N is the COMMIT_HORIZON_MS of the Workers (default ${DEFAULT_HORIZON_MS})
The DSN may also be in SCHEMA_DSN, where other users' lists of processes do not show it. With TLS: ...DB?tls=true`;

export interface Options {
  command: Command;
  address: DatabaseAddress;
  dryRun: boolean;
  horizonMs: number;
}

/** Wrong flags, told in one line. */
export class UsageError extends Error {
  override name = "UsageError";
}

/** Throws `UsageError`. `null`: help was asked for. */
export function readOptions(
  args: readonly string[],
  env: Readonly<Record<string, string | undefined>>,
): Options | null {
  const { values, positionals } = parse(args);
  if (values.help) return null;
  const [name, ...rest] = positionals;
  const command = COMMANDS.find((each) => each === name);
  if (!command || rest.length > 0) {
    throw new UsageError(`give one command, ${COMMANDS.join(", ")}, not ${positionals.join(" ") || "none"}`);
  }
  const dryRun = values["dry-run"] ?? false;
  if (dryRun && command !== "apply")
    throw new UsageError(`--dry-run is for apply, and ${command} changes nothing`);
  const horizon = values["horizon-ms"];
  if (horizon !== undefined && command !== "verify") throw new UsageError("--horizon-ms is for verify");
  const dsn = values.dsn ?? (env.SCHEMA_DSN || undefined);
  if (dsn === undefined) throw new UsageError("give --dsn mysql://USER:PASS@HOST:PORT/DB, or set SCHEMA_DSN");
  try {
    return { command, address: parseAddress(dsn), dryRun, horizonMs: readHorizon(horizon) };
  } catch (error) {
    if (error instanceof TypeError) throw new UsageError(error.message);
    throw error;
  }
}

function parse(args: readonly string[]) {
  try {
    return parseArgs({
      args: [...args],
      allowPositionals: true,
      options: {
        dsn: { type: "string" },
        "dry-run": { type: "boolean" },
        "horizon-ms": { type: "string" },
        help: { type: "boolean", short: "h" },
      },
    });
  } catch (error) {
    // It may quote an argument, and that may be a DSN: its kind says enough.
    const code = error instanceof Error && "code" in error ? error.code : "";
    if (code === "ERR_PARSE_ARGS_UNKNOWN_OPTION") {
      throw new UsageError("unknown flag: --dsn, --dry-run and --horizon-ms are known");
    }
    if (code === "ERR_PARSE_ARGS_INVALID_OPTION_VALUE") {
      throw new UsageError("--dsn and --horizon-ms need a value, --dry-run takes none");
    }
    throw error;
  }
}

function readHorizon(text: string | undefined): number {
  if (text === undefined) return DEFAULT_HORIZON_MS;
  const value = /^[0-9]{1,9}$/.test(text) ? Number(text) : Number.NaN;
  if (value >= MIN_HORIZON_MS && value <= MAX_HORIZON_MS) return value;
  throw new UsageError(
    `--horizon-ms ${JSON.stringify(text)} must be a number from ${MIN_HORIZON_MS} to ${MAX_HORIZON_MS}`,
  );
}
