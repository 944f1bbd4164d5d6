import { describe, expect, test } from "vitest";
import { addressText, parseAddress } from "../../../scripts/schema/address.ts";
import { DEFAULT_HORIZON_MS, readOptions, UsageError } from "../../../scripts/schema/options.ts";
import { EXIT, runSchemaCommand } from "../../../scripts/schema/run-command.ts";
import { readLogConfig } from "../../../src/log/log-config.ts";

const DSN = "mysql://ann:hush%40hush@db.example:3307/queue";

function usageError(args: string[], env: Record<string, string> = {}): string {
  try {
    readOptions(args, env);
  } catch (error) {
    if (error instanceof UsageError) return error.message;
    throw error;
  }
  return "";
}

describe("the flags", () => {
  test("are read", () => {
    expect(readOptions(["apply", "--dsn", DSN, "--dry-run"], {})).toEqual({
      command: "apply",
      address: {
        host: "db.example",
        port: 3307,
        user: "ann",
        password: "hush@hush",
        database: "queue",
        tls: false,
      },
      dryRun: true,
      horizonMs: DEFAULT_HORIZON_MS,
    });
    expect(readOptions(["verify", `--dsn=${DSN}`, "--horizon-ms", "5000"], {})?.horizonMs).toBe(5000);
    expect(readOptions(["--help"], {})).toBeNull();
  });

  test("need not hold the DSN, and win over the environment", () => {
    const other = "mysql://bob:b@other/queue";
    expect(readOptions(["status"], { SCHEMA_DSN: DSN })?.address.user).toBe("ann");
    expect(readOptions(["status", "--dsn", other], { SCHEMA_DSN: DSN })?.address.user).toBe("bob");
  });

  test.each([
    ["no command", [`--dsn=${DSN}`], "give one command"],
    ["an unknown command", ["drop", `--dsn=${DSN}`], "give one command"],
    ["two commands", ["apply", "verify", `--dsn=${DSN}`], "give one command"],
    ["an unknown flag", ["apply", `--dsn=${DSN}`, "--force"], "unknown flag"],
    ["a flag without its value", ["apply", "--dsn"], "need a value"],
    ["a value for a switch", ["apply", `--dsn=${DSN}`, "--dry-run=yes"], "--dry-run takes none"],
    ["no DSN", ["apply"], "or set SCHEMA_DSN"],
    ["a dry run of what changes nothing", ["status", `--dsn=${DSN}`, "--dry-run"], "--dry-run is for apply"],
    [
      "a horizon where none is needed",
      ["apply", `--dsn=${DSN}`, "--horizon-ms=5000"],
      "--horizon-ms is for verify",
    ],
    ["a horizon that is no number", ["verify", `--dsn=${DSN}`, "--horizon-ms=1e4"], "must be a number"],
    ["a DSN of another database", ["apply", "--dsn=postgres://ann:hush@db/queue"], "mysql://"],
    ["a DSN without a database", ["apply", "--dsn=mysql://ann:hush@db"], "one database name"],
    ["a DSN with an unknown parameter", ["apply", `--dsn=${DSN}?ssl=off`], "?tls=true"],
  ])("with %s are refused in one line without the password", (_what, args, expected) => {
    const message = usageError(args);
    expect(message).toContain(expected);
    expect(message).not.toMatch(/hush|\n/);
  });

  test("take the horizons that a Worker takes", () => {
    const worker = (ms: number) => {
      const url = "https://ann:hush@db.example";
      return readLogConfig({ MESSAGE_LOG: "vitess", DATABASE_URL: url, COMMIT_HORIZON_MS: String(ms) }).ok;
    };
    for (const ms of [999, 1000, 3_600_000, 3_600_001]) {
      expect(usageError(["verify", `--dsn=${DSN}`, `--horizon-ms=${ms}`]) === "", `${ms}`).toBe(worker(ms));
    }
    const config = readLogConfig({ MESSAGE_LOG: "vitess", DATABASE_URL: "https://ann:hush@db.example" });
    expect(config).toMatchObject({ log: { commitHorizonMs: DEFAULT_HORIZON_MS } });
  });
});

describe("an address", () => {
  test("asks for TLS by a parameter", () => {
    expect(parseAddress(`${DSN}?tls=true`).tls).toBe(true);
    expect(parseAddress(`${DSN}?tls=false`).tls).toBe(false);
  });

  test("is shown without the password", () => {
    expect(addressText(parseAddress(DSN))).toBe("ann@db.example:3307/queue");
  });
});

describe("the command", () => {
  const run = async (args: string[]) => {
    const [said, complaints]: [string[], string[]] = [[], []];
    const terminal = {
      say: (line: string) => said.push(line),
      complain: (line: string) => complaints.push(line),
    };
    return { code: await runSchemaCommand(args, {}, terminal), said, complaints };
  };

  test("ends with 2 for wrong flags", async () => {
    const { code, said, complaints } = await run(["apply"]);
    expect(code).toBe(EXIT.usage);
    expect(said).toEqual([]);
    expect(complaints).toHaveLength(1);
  });

  test("shows how it is used", async () => {
    const { code, said } = await run(["-h"]);
    expect(code).toBe(EXIT.ok);
    expect(said[0]).toContain("usage: npm run schema");
  });

  test("says when nothing listens, and ends with 1", async () => {
    // Port 1 of the loopback address is nobody's.
    const { code, complaints } = await run(["status", "--dsn", "mysql://ann:hush@127.0.0.1:1/queue"]);
    expect(code).toBe(EXIT.failed);
    expect(complaints).toEqual([
      "schema status: nothing listens on 127.0.0.1:1: is the server running, and is this its port?",
    ]);
  });
});
