import { describe, onTestFinished } from "vitest";
import type { MessageLog } from "../../src/log/message-log.ts";
import { appendCases } from "./append-cases.ts";
import { bytesCases } from "./bytes-cases.ts";
import { deadLetterCases } from "./dead-letter-cases.ts";
import { deleteCases } from "./delete-cases.ts";
import { dueCases } from "./due-cases.ts";
import { emptyPartitionCases } from "./empty-partition-cases.ts";
import { headersCases } from "./headers-cases.ts";
import { progressCases } from "./progress-cases.ts";
import { readCases } from "./read-cases.ts";
import { resetCases } from "./reset-cases.ts";
import { scanCases } from "./scan-cases.ts";
import { settingsCases } from "./settings-cases.ts";
import { tenantCases } from "./tenant-cases.ts";

/** A log under test with what surrounds it, fresh for each case. */
export interface LogHarness {
  log: MessageLog;
  /** Another tenant's log in the same database. */
  otherTenantsLog: MessageLog;
  /** The same tenant's log as a restarted process sees it; with a storage limit where the log has one. */
  reopen(limits?: { maxBytes: number }): Promise<MessageLog>;
  /** Moves the log's clock; null where that is a database's own. */
  stepClock: ((byMs: number) => void) | null;
  close(): Promise<void>;
}

export type MakeLog = () => Promise<LogHarness>;

/** What every implementation of the contract does. An implementation's test file only wires it up. */
export function messageLogSuite(name: string, makeLog: MakeLog): void {
  const setup: MakeLog = async () => {
    const harness = await makeLog();
    onTestFinished(() => harness.close());
    return harness;
  };
  describe(`message log: ${name}`, () => {
    describe("append", () => appendCases(setup));
    describe("exact bytes (G12)", () => bytesCases(setup));
    describe("scans", () => scanCases(setup));
    describe("scans with headers", () => headersCases(setup));
    describe("due messages", () => dueCases(setup));
    describe("reads for people", () => readCases(setup));
    describe("dead letters", () => deadLetterCases(setup));
    describe("deletes", () => deleteCases(setup));
    describe("settings", () => settingsCases(setup));
    describe("progress", () => progressCases(setup));
    describe("resets", () => resetCases(setup));
    describe("partitions without messages", () => emptyPartitionCases(setup));
    describe("tenants (G7)", () => tenantCases(setup));
  });
}
