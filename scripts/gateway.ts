import { type CommandSettings, readCommandLine, USAGE, UsageError } from "../src/gateway/command-line.ts";
import { parseDsn } from "../src/gateway/dsn.ts";
import { type Gateway, startGateway } from "../src/gateway/gateway.ts";
import { ConnectError, MysqlConnection } from "../src/gateway/mysql-connection.ts";

const EXIT_USAGE = 2;
const CONNECT_MS = 5000;

/** Serves until a signal. Ends with 0 after one, with 1 when it cannot start, with 2 for a wrong flag. */
async function main(): Promise<void> {
  const settings = readCommandLine(process.argv.slice(2), process.env);
  if (settings === null) {
    process.stdout.write(USAGE);
    return;
  }
  const probe = await MysqlConnection.open(parseDsn(settings.dsn), CONNECT_MS);
  probe.destroy();
  await serve(settings);
}

async function serve(settings: CommandSettings): Promise<void> {
  // Nothing but the stack: a database library keeps the statement in an error's other fields.
  const onDefect = (error: unknown) => complain(error instanceof Error ? String(error.stack) : "a defect");
  const gateway = await startGateway({ ...settings, onDefect });
  for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) {
    process.on(signal, () => end(gateway));
  }
  // The script that started this one is gone, however it went.
  process.on("disconnect", () => end(gateway));
  if (process.env.FAIRLANE_CHANNEL === "ipc" && !process.connected) end(gateway);
  process.channel?.unref();
  process.stdout.write(`DATABASE_URL=${gateway.url}\n`);
}

function end(gateway: Gateway): void {
  void gateway.close();
  if (process.connected) process.disconnect?.();
}

function complain(line: string): void {
  process.stderr.write(`${line}\n`);
}

try {
  await main();
} catch (error) {
  const { syscall, code } = error as NodeJS.ErrnoException;
  if (error instanceof UsageError) {
    complain(`Fairlane: ${error.message}; --help says how`);
    process.exitCode = EXIT_USAGE;
  } else if (error instanceof ConnectError) {
    complain(`Fairlane: the database cannot be used: ${error.message}`);
    process.exitCode = 1;
  } else if (syscall === "listen" || syscall === "getaddrinfo") {
    complain(`Fairlane: cannot listen there (${code}): choose another --port or --host`);
    process.exitCode = 1;
  } else {
    throw error;
  }
}
