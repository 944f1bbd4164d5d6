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
import { type EmbeddedHarness, embeddedCases } from "../conformance/embedded-cases.ts";
import { messageLogSuite } from "../conformance/message-log-suite.ts";
import { at, checkpoint, GROUP, group, message, messages, reset, TOPIC } from "../conformance/samples.ts";

type AnyMethods = Record<PropertyKey, (...args: unknown[]) => unknown>;

/** A log whose calls run inside the object that owns the storage; `facts` are its fields. */
function insideObject(
  stub: DurableObjectStub,
  make: (sql: Sql) => MessageLog,
  facts: Pick<MessageLog, "commitHorizonMs">,
): MessageLog {
  let inner: AnyMethods | null = null;
  const call = (method: PropertyKey, args: unknown[]) =>
    runInDurableObject(stub, (_, state) => {
      inner ??= make(new PlatformSql(state.storage)) as unknown as AnyMethods;
      return inner[method]?.(...args);
    });
  const proxy = new Proxy(facts, {
    get: (_, name) => {
      if (name === "commitHorizonMs") return facts.commitHorizonMs;
      // Not a promise, although it answers to every name.
      return name === "then" ? undefined : (...args: unknown[]) => call(name, args);
    },
  });
  return proxy as MessageLog;
}

function newStub(): DurableObjectStub {
  const { TENANT } = env as unknown as Env;
  return TENANT.get(TENANT.newUniqueId()) as unknown as DurableObjectStub;
}

async function makeLog(): Promise<EmbeddedHarness> {
  const stub = newStub();
  let nowMs = Date.UTC(2026, 0, 1);
  const clock = { nowMs: () => nowMs };
  const open = async (tenant: string, limits?: { maxBytes: number }): Promise<MessageLog> => {
    const make = (sql: Sql) => {
      migrate(sql, clock, OBJECT_SCHEMA);
      return new ObjectLog(tenant, sql, clock, limits);
    };
    const commitHorizonMs = await runInDurableObject(
      stub,
      (_, state) => make(new PlatformSql(state.storage)).commitHorizonMs,
    );
    return insideObject(stub, make, { commitHorizonMs });
  };
  return {
    log: await open("acme"),
    otherTenantsLog: await open("globex"),
    reopen: (limits) => open("acme", limits),
    stepClock: (byMs) => {
      nowMs += byMs;
    },
    close: async () => {},
  };
}

messageLogSuite("embedded, in workerd", makeLog);
describe("embedded log, in workerd", () => embeddedCases(makeLog));

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
      const progressing = Array.from({ length: keys }, (_, key) => checkpoint({ partitionKey: `k${key}` }));
      await log.saveProgress(TOPIC, GROUP, progressing);
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
    [
      "scan of a part of a topic",
      11,
      (log) =>
        log.scanTopic(TOPIC, { afterOffset: 0, throughOffset: Number.MAX_SAFE_INTEGER - 1, maxEntries: 10 }),
    ],
    ["find by ID", 2, (log) => log.findEntries(TOPIC, "m3", "k3")],
    [
      "look for partitions without messages",
      2 * 10,
      (log) => log.listEmptyPartitions(TOPIC, GROUP, { afterKey: null, maxPartitions: 10 }),
    ],
    ["load of a topic", 1, (log) => log.loadTopic(TOPIC)],
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

  test("a checkpoint and a reset write one row a partition, and none when they say nothing new", async () => {
    const saved = (of: number) =>
      Array.from({ length: of }, (_, place) => checkpoint({ partitionKey: `k${place}`, resetEpoch: 1 }));
    const rows = await costs(1000, 10, (log) => log.saveProgress(TOPIC, GROUP, saved(10)));
    expect(rows.written).toBe(10);
    const again = await costs(1000, 10, async (log) => {
      await log.saveProgress(TOPIC, GROUP, saved(10));
      await log.saveProgress(TOPIC, GROUP, saved(10));
      await log.saveReset(TOPIC, GROUP, reset({ partitionKey: "k1" }));
    });
    expect(again.written).toBe(10);
    const reached = await costs(1000, 10, (log) => log.saveReset(TOPIC, GROUP, reset()));
    expect(reached.written).toBe(1);
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
