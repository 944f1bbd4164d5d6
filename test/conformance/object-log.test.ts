import { migrate } from "../../src/durable/migrate.ts";
import { ObjectLog } from "../../src/log/object/object-log.ts";
import { OBJECT_SCHEMA } from "../../src/log/object/schema.generated.ts";
import { NodeSql } from "../sim/node-sql.ts";
import { messageLogSuite } from "./message-log-suite.ts";

messageLogSuite("embedded, in Node", async () => {
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
    hasStorageLimit: true,
    close: async () => sql.close(),
  };
});
