import { parseArgs } from "node:util";
import { checkCredential } from "./credentials.ts";
import { parseDsn } from "./dsn.ts";

export const USAGE = `Serves the PlanetScale HTTP protocol in front of a MySQL server, for the driver @planetscale/database.

npm run gateway -- --dsn mysql://USER:PASS@HOST:PORT/DB --port 3900 --user app --password secret

  --dsn       the database; or GATEWAY_DSN, which does not show in the list of processes
  --port      to listen on (default: a free one)
  --user      what clients must send: letters, digits, "-", ".", "_" and "~"
  --password  likewise; or GATEWAY_PASSWORD
  --host      to listen on (default: 127.0.0.1, which only this machine reaches)
`;

const MAX_PORT = 65535;

/** What is wrong with the flags, as one line without secrets. */
export class UsageError extends Error {
  override name = "UsageError";
}

export interface CommandSettings {
  dsn: string;
  user: string;
  password: string;
  host: string;
  port: number;
}

/** null: help was asked for. Throws `UsageError`. */
export function readCommandLine(
  args: readonly string[],
  env: Readonly<Record<string, string | undefined>>,
): CommandSettings | null {
  try {
    return readFlags(args, env);
  } catch (error) {
    if (!(error instanceof TypeError)) throw error;
    throw new UsageError(error.message.split("\n")[0]);
  }
}

/** Throws `TypeError`, as `parseArgs` does. */
function readFlags(
  args: readonly string[],
  env: Readonly<Record<string, string | undefined>>,
): CommandSettings | null {
  const { values: flags } = parseArgs({
    args: [...args],
    options: {
      dsn: { type: "string" },
      port: { type: "string", default: "0" },
      user: { type: "string" },
      password: { type: "string" },
      host: { type: "string", default: "127.0.0.1" },
      help: { type: "boolean", default: false },
    },
  });
  if (flags.help) return null;
  const dsn = flags.dsn ?? env.GATEWAY_DSN;
  const password = flags.password ?? env.GATEWAY_PASSWORD;
  if (!dsn) throw new TypeError("--dsn is missing (or GATEWAY_DSN)");
  if (!flags.user) throw new TypeError("--user is missing");
  if (!password) throw new TypeError("--password is missing (or GATEWAY_PASSWORD)");
  if (flags.host === "") throw new TypeError("--host is empty");
  checkCredential("--user", flags.user);
  checkCredential("--password", password);
  parseDsn(dsn);
  return { dsn, user: flags.user, password, host: flags.host, port: readPort(flags.port) };
}

function readPort(text: string): number {
  const port = /^\d{1,5}$/.test(text) ? Number(text) : Number.POSITIVE_INFINITY;
  if (port > MAX_PORT) throw new TypeError(`--port must be a number up to ${MAX_PORT}`);
  return port;
}
