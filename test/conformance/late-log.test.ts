import { LateDatabase } from "../sim/late-database.ts";
import { LateLog } from "../sim/late-log.ts";
import { messageLogSuite } from "./message-log-suite.ts";

const COMMIT_HORIZON_MS = 5000;

/** The simulator's log outside the object, whose inserts commit at once. */
messageLogSuite("outside, in memory", async () => {
  let nowMs = Date.UTC(2026, 0, 1);
  const database = new LateDatabase(
    {
      // Time passes with each statement.
      nowMs: () => ++nowMs,
      trueMs: () => nowMs,
      drawFate: () => ({ openMs: 0, fails: false }),
      wait: async () => {},
      betweenStatements: async () => {},
    },
    { killAfterMs: COMMIT_HORIZON_MS, tellsOffsets: true },
  );
  const open = (tenant: string) => new LateLog(tenant, database, { commitHorizonMs: COMMIT_HORIZON_MS });
  return {
    log: open("acme"),
    otherTenantsLog: open("globex"),
    reopen: async () => open("acme"),
    stepClock: null,
    close: async () => {},
  };
});
