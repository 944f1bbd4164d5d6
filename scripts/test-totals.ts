import { readdirSync, readFileSync } from "node:fs";
import { resolve } from "node:path";

/** Where each vitest run of the test command leaves its JSON report. */
export const REPORTS_FOLDER = resolve(import.meta.dirname, "../dist/test-reports");

export interface TestTotals {
  passed: number;
  /** Failed tests, and files that failed before or beside their tests. */
  failed: number;
  /** Skipped and todo. */
  skipped: number;
}

interface VitestReport {
  success: boolean;
  numPassedTests: number;
  numFailedTests: number;
  numPendingTests: number;
  numTodoTests: number;
  testResults: { status: string; assertionResults: { status: string }[] }[];
}

/** The sum over all reports of the last run. */
export function readTotals(): TestTotals {
  const totals: TestTotals = { passed: 0, failed: 0, skipped: 0 };
  for (const name of readdirSync(REPORTS_FOLDER)) {
    const report = JSON.parse(readFileSync(resolve(REPORTS_FOLDER, name), "utf8")) as VitestReport;
    const failed = report.numFailedTests + report.testResults.filter(failedOutsideTests).length;
    totals.passed += report.numPassedTests;
    // A run can fail with no test or file to blame, such as by an unhandled rejection.
    totals.failed += failed === 0 && !report.success ? 1 : failed;
    totals.skipped += report.numPendingTests + report.numTodoTests;
  }
  return totals;
}

function failedOutsideTests(file: VitestReport["testResults"][number]): boolean {
  return file.status === "failed" && file.assertionResults.every((test) => test.status !== "failed");
}

export function totalsLine({ passed, failed }: TestTotals): string {
  return `${passed} passed, ${failed} failed`;
}

if (import.meta.main) {
  const totals = readTotals();
  process.stdout.write(`${totalsLine(totals)}\n`);
  if (totals.failed > 0 || totals.skipped > 0 || totals.passed === 0) process.exitCode = 1;
}
