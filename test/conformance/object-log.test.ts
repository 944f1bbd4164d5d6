import { describe } from "vitest";
import { migrate } from "../../src/durable/migrate.ts";
import { ObjectLog } from "../../src/log/object/object-log.ts";
import { OBJECT_SCHEMA } from "../../src/log/object/schema.generated.ts";
import { NodeSql } from "../sim/node-sql.ts";
import { type EmbeddedHarness, embeddedCases } from "./embedded-cases.ts";
import { messageLogSuite } from "./message-log-suite.ts";

async function makeLog(): Promise<EmbeddedHarness> {
  let nowMs = Date.UTC(2026, 0, 1);
  const clock = { nowMs: () => nowMs };
  const sql = new NodeSql();
  migrate(sql, clock, OBJECT_SCHEMA);
  return {
    log: new ObjectLog("acme", sql, clock),
    otherTenantsLog: new ObjectLog("globex", sql, clock),
    reopen: async (limits) => new ObjectLog("acme", sql, clock, limits),
    stepClock: (byMs) => {
      nowMs += byMs;
    },
    close: async () => sql.close(),
  };
}

messageLogSuite("embedded, in Node", makeLog);
describe("embedded log, in Node", () => embeddedCases(makeLog));
