import { expect, test } from "vitest";
import { welcome } from "../../../src/local/welcome.ts";
import type { LogConfig } from "../../../src/log/log-config.ts";

function textOf(dataDir: string, log: LogConfig = { kind: "object" }): string {
  return welcome({
    version: "1.2.3",
    url: "http://127.0.0.1:1",
    tenants: ["acme", "demo"],
    dataDir,
    log,
    token: "t",
    tokenPath: `${dataDir}/token`,
  });
}

function lines(dataDir: string): string[] {
  return textOf(dataDir)
    .split("\n")
    .filter((line) => line.startsWith("curl "));
}

test("the lines to paste use the first tenant that there is", () => {
  expect(lines("/data")).toHaveLength(3);
  for (const line of lines("/data"))
    expect(line).toContain("http://127.0.0.1:1/v1/tenants/acme/topics/orders");
});

test("a folder that the shell would split or expand is quoted", () => {
  const [publish, receive] = lines("/my $data/it's");
  expect(publish).toContain(`"authorization: Bearer $(cat '/my $data/it'\\''s/token')"`);
  expect(receive).toContain(`| tee '/my $data/it'\\''s/reply.json'`);
});

test("the log is named, and nobody's password", () => {
  expect(textOf("/data")).toContain("\n  log       object: messages are in the data folder\n");
  const vitess: LogConfig = {
    kind: "vitess",
    credentials: { url: "https://u:secret@db.example" },
    hostShown: "db.example",
    isLoopback: false,
    commitHorizonMs: 120_000,
  };
  expect(textOf("/data", vitess)).toContain("\n  log       vitess: messages are at db.example\n");
  expect(textOf("/data", vitess)).not.toContain("secret");
});
