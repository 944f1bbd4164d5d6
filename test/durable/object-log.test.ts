import { runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { describe, expect, test } from "vitest";
import { deadLetterTopicOf } from "../../src/core/settings.ts";
import { migrate } from "../../src/durable/migrate.ts";
import { PlatformSql } from "../../src/durable/platform.ts";
import type { Sql } from "../../src/durable/ports.ts";
import type { MessageLog } from "../../src/log/message-log.ts";
import { ObjectLog } from "../../src/log/object/object-log.ts";
import { OBJECT_SCHEMA } from "../../src/log/object/schema.generated.ts";
import type { Env } from "../../src/workers/env.ts";
import { messageLogSuite } from "../conformance/message-log-suite.ts";
import { at, GROUP, group, message, messages, TOPIC } from "../conformance/samples.ts";

type AnyMethods = Record<PropertyKey, (...args: unknown[]) => unknown>;

/** A log whose calls run inside the object that owns the storage. */
function insideObject(stub: DurableObjectStub, make: (sql: Sql) => MessageLog): MessageLog {
  let inner: AnyMethods | null = null;
  const call = (method: PropertyKey, args: unknown[]) =>
    runInDurableObject(stub, (_, state) => {
      inner ??= make(new PlatformSql(state.storage)) as unknown as AnyMethods;
      return inner[method]?.(...args);
    });
  const proxy = new Proxy(
    {},
    {
      // Not a promise, although it answers to every name.
      get: (_, method) => (method === "then" ? undefined : (...args: unknown[]) => call(method, args)),
    },
  );
  return proxy as MessageLog;
}

function newStub(): DurableObjectStub {
  const { TENANT } = env as unknown as Env;
  return TENANT.get(TENANT.newUniqueId()) as unknown as DurableObjectStub;
}

messageLogSuite("embedded, in workerd", async () => {
  const stub = newStub();
  let nowMs = Date.UTC(2026, 0, 1);
  const clock = { nowMs: () => nowMs };
  const open = (tenant: string, limits?: { maxBytes: number }): MessageLog =>
    insideObject(stub, (sql) => {
      migrate(sql, clock, OBJECT_SCHEMA);
      return new ObjectLog(tenant, sql, clock, limits);
    });
  return {
    log: open("acme"),
    otherTenantsLog: open("globex"),
    reopen: async (limits) => open("acme", limits),
    stepClock: (byMs) => {
      nowMs += byMs;
    },
    hasStorageLimit: true,
    close: async () => {},
  };
});

interface Rows {
  read: number;
  written: number;
}

/** `ctx.storage`, counting by the platform's own counters. */
function counted(storage: DurableObjectStorage, rows: Rows): DurableObjectStorage {
  const count = (cursor: SqlStorageCursor<Record<string, SqlStorageValue>>) => {
    rows.read += cursor.rowsRead;
    rows.written += cursor.rowsWritten;
  };
  const exec = (query: string, ...params: unknown[]) => {
    const cursor = storage.sql.exec(query, ...params);
    const all = cursor.toArray();
    count(cursor);
    return { rowsWritten: cursor.rowsWritten, toArray: () => all, one: () => all[0] };
  };
  const sql = { exec, databaseSize: storage.sql.databaseSize };
  return { sql, transactionSync: <T>(run: () => T) => storage.transactionSync(run) } as DurableObjectStorage;
}

describe("rows by the platform's counters", () => {
  /** Runs `use` in an object of `topicSize` messages over `keys` partitions and says what it cost. */
  async function costs(
    topicSize: number,
    keys: number,
    use: (log: MessageLog) => Promise<unknown>,
  ): Promise<Rows> {
    return runInDurableObject(newStub(), async (_, state) => {
      const rows: Rows = { read: 0, written: 0 };
      const sql = new PlatformSql(counted(state.storage, rows));
      const clock = { nowMs: () => Date.UTC(2026, 0, 1) };
      migrate(sql, clock, OBJECT_SCHEMA);
      const log = new ObjectLog("acme", sql, clock);
      await log.saveGroup(TOPIC, group());
      for (let made = 0; made < topicSize; made += 100) {
        const batch = messages(100).map((one, place) => ({
          ...one,
          id: `m${made + place}`,
          partitionKey: `k${(made + place) % keys}`,
        }));
        await log.append(TOPIC, batch);
      }
      Object.assign(rows, { read: 0, written: 0 });
      await use(log);
      return { ...rows };
    });
  }

  const reads: [string, number, (log: MessageLog) => Promise<unknown>][] = [
    ["scan of a topic", 11, (log) => log.scanTopic(TOPIC, { afterOffset: 0, maxEntries: 10 })],
    [
      "scan of a partition",
      11,
      (log) =>
        log.scanPartitions(TOPIC, [
          { partitionKey: "k3", afterOffset: 0, throughOffset: Number.MAX_SAFE_INTEGER, maxEntries: 10 },
        ]),
    ],
    ["list of partitions", 30, (log) => log.listPartitions(TOPIC, { afterKey: null, maxPartitions: 10 })],
    [
      "list of a partition",
      10,
      (log) => log.listMessages(TOPIC, { partitionKey: "k3", afterOffset: 0, maxEntries: 10 }),
    ],
    [
      "count up to 10",
      10,
      (log) => log.countEntries(TOPIC, { partitionKey: "k3", afterOffset: 0, maxCount: 10 }),
    ],
    ["find by ID", 2, (log) => log.findMessages(TOPIC, "m3", "k3")],
    ["tail", 2, (log) => log.tail(TOPIC)],
  ];

  test.each(reads)("a %s reads at most %i, whatever the topic holds", async (_, most, use) => {
    const small = await costs(1000, 10, use);
    const large = await costs(10_000, 10, use);
    const wide = await costs(10_000, 1000, use);
    expect(small.read).toBeLessThanOrEqual(most);
    expect(large).toEqual(small);
    expect(wide.read).toBeLessThanOrEqual(small.read);
    expect(small.written).toBe(0);
  });

  test("a message costs three rows to store, one to read and one to delete; a delay costs one more", async () => {
    const rows = await costs(1000, 10, (log) => log.append(TOPIC, messages(100, { partitionKey: "new" })));
    // The list that carries the batch counts as read, a row a message.
    expect(rows).toEqual({ read: 100, written: 300 });
    const delayed = await costs(1000, 10, (log) => log.append(TOPIC, [message("x", { delayMs: 5 })]));
    expect(delayed.written).toBe(4);
    const read = await costs(1000, 10, async (log) => {
      const { entries } = await log.scanTopic(TOPIC, { afterOffset: 0, maxEntries: 100 });
      await log.readMessages(
        TOPIC,
        entries.map(({ offset }) => offset),
      );
    });
    expect(read).toEqual({ read: 101 + 100, written: 0 });
    const deleted = await costs(1000, 10, async (log) =>
      log.purge(TOPIC, { throughOffset: Number.MAX_SAFE_INTEGER, maxEntries: 100 }),
    );
    // The last row is the topic's own: how far it was collected.
    expect(deleted.written).toBe(101);
    expect(deleted.read).toBeLessThanOrEqual(205);
  });

  test("a dead letter is copied by one statement, whatever the topic holds", async () => {
    const copy = async (log: MessageLog) => {
      const { entries } = await log.scanTopic(TOPIC, { afterOffset: 0, maxEntries: 10 });
      const copies = entries.map(({ offset }) => {
        return { offset, group: GROUP, attempts: 1, failedAtMs: 1, reason: "", origin: `o${offset}` };
      });
      await log.copyToDeadLetters(TOPIC, copies);
      const dead = await log.scanTopic(deadLetterTopicOf(TOPIC), { afterOffset: 0, maxEntries: 10 });
      await log.redrive(TOPIC, [at(dead.entries, 0).offset]);
    };
    const small = await costs(1000, 10, copy);
    expect(await costs(10_000, 1000, copy)).toEqual(small);
    expect(small.written).toBeLessThanOrEqual(10 * 3 + 1 + 3 + 1 + 1);
  });
});
