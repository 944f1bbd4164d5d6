import { FairlaneError } from "../../../src/core/failure.ts";
import { migrate } from "../../../src/durable/migrate.ts";
import type { MessageLog, NewMessage } from "../../../src/log/message-log.ts";
import { ObjectLog } from "../../../src/log/object/object-log.ts";
import { OBJECT_SCHEMA } from "../../../src/log/object/schema.generated.ts";
import { NodeSql } from "../../sim/node-sql.ts";

export const TENANT = "demo";
export const TOPIC = "t";

export const unavailable = () => new FairlaneError({ code: "store-unavailable", detail: "the log is down" });

/** What a read or an append of the log comes to; absent: what it comes to by itself. */
export interface Faults {
  read?: (offsets: readonly number[]) => unknown;
  append?: () => unknown;
}

/**
 * A log that stands outside the object: a real one over SQLite, whose reads and appends fail, or wait, as the test
 * says. It tells every read.
 */
export function outsideLog(faults: Faults = {}) {
  const clock = { nowMs: () => Date.UTC(2026, 0, 1) };
  const sql = new NodeSql();
  migrate(sql, clock, OBJECT_SCHEMA);
  const real = new ObjectLog(TENANT, sql, clock);
  const reads: number[][] = [];
  const log: MessageLog = Object.create(real, {
    readMessages: {
      value: async (topic: string, offsets: readonly number[]) => {
        reads.push([...offsets]);
        await faults.read?.(offsets);
        return real.readMessages(topic, offsets);
      },
    },
    append: {
      value: async (topic: string, messages: readonly NewMessage[]) => {
        await faults.append?.();
        return real.append(topic, messages);
      },
    },
  });
  /** Stores JSON bodies, and returns their offsets. */
  const store = async (...bodies: (string | Uint8Array)[]): Promise<number[]> => {
    const messages = bodies.map((body, i) => message({ id: `m${i}`, body }));
    await real.append(TOPIC, messages);
    const { entries } = await real.scanTopic(TOPIC, { afterOffset: 0, maxEntries: bodies.length });
    return entries.map(({ offset }) => offset);
  };
  return { log, real, reads, store, logOf: () => log };
}

export function message(more: Partial<NewMessage> = {}): NewMessage {
  const { body = "1" } = more;
  const contentType = typeof body === "string" ? null : "a/b";
  return { id: "m", partitionKey: "k", body, contentType, headers: "", delayMs: 0, ...more };
}
