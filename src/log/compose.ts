import type { Clock, Sql } from "../durable/ports.ts";
import type { VitessConfig } from "./log-config.ts";
import type { MessageLog } from "./message-log.ts";
import { ObjectLog } from "./object/object-log.ts";
import { Database } from "./vitess/database.ts";
import { VitessLog } from "./vitess/vitess-log.ts";

/** The one place that knows which logs there are. */
export function makeObjectLog(tenant: string, sql: Sql, clock: Clock): ObjectLog {
  return new ObjectLog(tenant, sql, clock);
}

/** Every tenant's log in one database. It may be kept for as long as the isolate lives. */
export function makeVitessLogs({
  credentials,
  commitHorizonMs,
}: VitessConfig): (tenant: string) => MessageLog {
  const database = new Database(credentials);
  return (tenant) => new VitessLog(tenant, database, { commitHorizonMs });
}
