import { expect, test } from "vitest";
import { deadLetterTopicOf } from "../../src/core/settings.ts";
import { migrate } from "../../src/durable/migrate.ts";
import type { Sql, SqlRow } from "../../src/durable/ports.ts";
import { ObjectLog } from "../../src/log/object/object-log.ts";
import { OBJECT_SCHEMA } from "../../src/log/object/schema.generated.ts";
import { NodeSql } from "../sim/node-sql.ts";
import { ALL, at, checkpoint, GROUP, group, message, messages, reset, TOPIC } from "./samples.ts";

type Params = Parameters<Sql["all"]> extends [string, ...infer Rest] ? Rest : never;

/** Keeps every statement with the parameters of its first use. */
class RecordingSql implements Sql {
  readonly statements = new Map<string, Params>();
  private readonly inner: Sql;

  constructor(inner: Sql) {
    this.inner = inner;
  }

  all(query: string, ...params: Params): SqlRow[] {
    this.statements.set(query, params);
    return this.inner.all(query, ...params);
  }

  run(query: string, ...params: Params): number {
    this.statements.set(query, params);
    return this.inner.run(query, ...params);
  }

  transaction<T>(run: () => T): T {
    return this.inner.transaction(run);
  }

  sizeBytes(): number {
    return this.inner.sizeBytes();
  }
}

/** Calls every method that runs a statement, so that a new statement cannot escape the plan check. */
async function useEverything(log: ObjectLog): Promise<void> {
  await log.saveTopic(TOPIC, { retentionMs: 1, maxRetentionMs: 1 });
  await log.saveGroup(TOPIC, group());
  await log.append(TOPIC, messages(40));
  await log.append(TOPIC, messages(40));
  await log.append(TOPIC, [message("late", { delayMs: 9 })]);
  const { entries } = await log.scanTopic(TOPIC, ALL);
  const offset = at(entries, 0).offset;
  for (const withHeaders of [false, true]) {
    await log.scanTopic(TOPIC, { ...ALL, withHeaders });
    await log.scanPartitions(TOPIC, [
      { partitionKey: "k", afterOffset: 0, throughOffset: offset, maxEntries: 5, withHeaders },
    ]);
    const after = { dueAtMs: 0, offset: 0 };
    await log.scanDue(TOPIC, { after, throughDueMs: 1, maxEntries: 5, withHeaders });
  }
  await log.listPartitions(TOPIC, { afterKey: null, maxPartitions: 5 });
  await log.readMessages(TOPIC, [offset]);
  await log.findEntries(TOPIC, "m0", "k");
  await log.listMessages(TOPIC, ALL);
  await log.listMessages(TOPIC, { ...ALL, partitionKey: "k" });
  await log.listMessages(TOPIC, { ...ALL, fromEnd: true });
  await log.listMessages(TOPIC, { ...ALL, fromEnd: true, partitionKey: "k" });
  for (const partitionKey of [{}, { partitionKey: "k" }]) {
    await log.countEntries(TOPIC, { afterOffset: 0, maxCount: 5, ...partitionKey });
    await log.countEntries(TOPIC, { afterOffset: 0, maxCount: 5, forGroup: GROUP, ...partitionKey });
  }
  await log.copyToDeadLetters(TOPIC, [
    { offset, group: GROUP, attempts: 1, failedAtMs: 1, reason: "", origin: "o" },
  ]);
  const dead = await log.scanTopic(deadLetterTopicOf(TOPIC), ALL);
  await log.redrive(TOPIC, [at(dead.entries, 0).offset]);
  await log.tail(TOPIC);
  await log.loadTopics();
  await log.loadTopic(TOPIC);
  await log.loadGroups(TOPIC);
  await log.loadAllGroups();
  await log.saveProgress(TOPIC, GROUP, [checkpoint()]);
  await log.saveReset(TOPIC, GROUP, reset());
  await log.loadProgress(TOPIC, GROUP, ["k"]);
  await log.highestResetEpoch(TOPIC, GROUP, 1);
  await log.listEmptyPartitions(TOPIC, GROUP, { afterKey: null, maxPartitions: 5 });
  await log.deleteProgress(TOPIC, GROUP, ["k"]);
  await log.deleteProgress(TOPIC, GROUP, null);
  await log.deleteRanges(TOPIC, [{ first: offset, last: offset }]);
  await log.purge(TOPIC, { throughOffset: offset, maxEntries: 5 });
}

function planOf(sql: Sql, query: string, params: Params): string[] {
  return sql.all(`EXPLAIN QUERY PLAN ${query}`, ...params).map((row) => String(row.detail));
}

/** What a plan may scan: lists that the caller bounds, not tables. */
const BOUNDED_SCANS =
  /^SCAN (wanted|listed|pick|copy|step|page|counted|json_each|CONSTANT ROW|\d+-ROW VALUES CLAUSE)\b/;

test("every statement of the log finds its rows by index and sorts none of them", async () => {
  const clock = { nowMs: () => Date.UTC(2026, 0, 1) };
  const inner = new NodeSql();
  migrate(inner, clock, OBJECT_SCHEMA);
  const sql = new RecordingSql(inner);
  await useEverything(new ObjectLog("acme", sql, clock));

  expect(sql.statements.size).toBeGreaterThan(30);
  const offenders: string[] = [];
  for (const [query, params] of sql.statements) {
    for (const step of planOf(inner, query, params)) {
      const scansTable = step.startsWith("SCAN ") && !BOUNDED_SCANS.test(step);
      // The IDs of a tenant's topics and groups are found under the whole key or its first columns.
      const misses = step.startsWith("SEARCH ") && !step.includes("tenant=?");
      if (scansTable || misses || step.includes("TEMP B-TREE")) offenders.push(`${step}\n${query}`);
    }
  }
  expect(offenders).toEqual([]);
});

test("reads of messages name more of the key than the tenant", async () => {
  const clock = { nowMs: () => Date.UTC(2026, 0, 1) };
  const inner = new NodeSql();
  migrate(inner, clock, OBJECT_SCHEMA);
  const sql = new RecordingSql(inner);
  await useEverything(new ObjectLog("acme", sql, clock));
  const narrow = /\(tenant=\? AND topic=\? AND (message_offset|partition_key|due_at_ms|\(due_at_ms)/;
  const wide: string[] = [];
  for (const [query, params] of sql.statements) {
    for (const step of planOf(inner, query, params)) {
      const isMessages = /SEARCH (queue_messages|m|source|letter)\b/.test(step);
      if (isMessages && !narrow.test(step)) wide.push(`${step}\n${query}`);
    }
  }
  // The highest offset is one seek to the end of the topic.
  expect(wide.filter((each) => !each.includes("max(message_offset) AS highest"))).toEqual([]);
});

test("partitions without messages are found in the indexes alone, by keys", async () => {
  const clock = { nowMs: () => Date.UTC(2026, 0, 1) };
  const inner = new NodeSql();
  migrate(inner, clock, OBJECT_SCHEMA);
  const sql = new RecordingSql(inner);
  const log = new ObjectLog("acme", sql, clock);
  await log.listEmptyPartitions(TOPIC, GROUP, { afterKey: null, maxPartitions: 5 });
  const [[query, params] = ["", []]] = sql.statements;
  const seeks = planOf(inner, query, params).filter((step) => step.startsWith("SEARCH "));
  expect(seeks).toEqual([
    expect.stringMatching(
      /^SEARCH queue_offsets .*\(tenant=\? AND topic=\? AND group_name=\? AND partition_key>\?\)/,
    ),
    expect.stringMatching(/^SEARCH m USING COVERING INDEX .*\(tenant=\? AND topic=\? AND partition_key=\?\)/),
  ]);
});

test("no statement but the read of messages and the copies names a body", async () => {
  const clock = { nowMs: () => Date.UTC(2026, 0, 1) };
  const inner = new NodeSql();
  migrate(inner, clock, OBJECT_SCHEMA);
  const sql = new RecordingSql(inner);
  await useEverything(new ObjectLog("acme", sql, clock));
  const reading = [...sql.statements.keys()].filter((query) => /^\s*(SELECT|WITH)/.test(query));
  const withBody = reading.filter((query) =>
    /\bbody\b|queue_messages\.\*|SELECT \*.*queue_messages/.test(query),
  );
  expect(withBody).toEqual([expect.stringContaining("AS wanted CROSS JOIN queue_messages")]);
});

test("a scan reads headers only when it is asked to, and finds the same rows by the same index", async () => {
  const clock = { nowMs: () => Date.UTC(2026, 0, 1) };
  const inner = new NodeSql();
  migrate(inner, clock, OBJECT_SCHEMA);
  const scans: { withHeaders: boolean; query: string; plan: string[] }[] = [];
  for (const withHeaders of [false, true]) {
    const sql = new RecordingSql(inner);
    const log = new ObjectLog("acme", sql, clock);
    await log.scanTopic(TOPIC, { ...ALL, withHeaders });
    await log.scanPartitions(TOPIC, [{ ...ALL, partitionKey: "k", throughOffset: 9, withHeaders }]);
    await log.scanDue(TOPIC, {
      after: { dueAtMs: 0, offset: 0 },
      throughDueMs: 9,
      maxEntries: 5,
      withHeaders,
    });
    for (const [query, params] of sql.statements) {
      if (query.startsWith("SELECT due_at_ms")) continue;
      scans.push({ withHeaders, query, plan: planOf(inner, query, params) });
    }
  }
  expect(scans).toHaveLength(6);
  for (const { withHeaders, query } of scans) expect(query.includes("headers"), query).toBe(withHeaders);
  expect(scans.slice(3).map(({ plan }) => plan)).toEqual(scans.slice(0, 3).map(({ plan }) => plan));
});
