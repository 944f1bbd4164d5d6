import { fail } from "../../core/failure.ts";
import { MAX_TOPICS_PER_TENANT } from "../../core/limits.ts";
import { defaultTopicSettings, isDeadLetterTopic, type TopicSettings } from "../../core/settings.ts";
import type { TopicRecord } from "../message-log.ts";
import type { Operation } from "./database.ts";
import { number, type SqlRow, text } from "./result-rows.ts";
import { readStatement, type Statement, writeStatement } from "./statement.ts";

const SETTINGS = "topic, retention_ms, max_retention_ms";
/** Each topic may have a dead-letter topic, and as many of those may have been made for themselves. */
const MAX_LISTED = 4 * MAX_TOPICS_PER_TENANT;

const LIST = readStatement(
  "list topics",
  `SELECT ${SETTINGS} FROM queue_topics WHERE tenant = ? ORDER BY topic LIMIT ${MAX_LISTED}`,
);
const FIND = readStatement(
  "find topic",
  `SELECT ${SETTINGS} FROM queue_topics WHERE tenant = ? AND topic = ?`,
);
/** Leaves the settings of one that is there. */
const MAKE = writeStatement(
  "make topic",
  `INSERT INTO queue_topics (tenant, topic, retention_ms, max_retention_ms) VALUES (?, ?, ?, ?)
   ON DUPLICATE KEY UPDATE retention_ms = retention_ms`,
  { isIdempotent: true },
);
const SAVE = writeStatement(
  "save topic",
  `INSERT INTO queue_topics (tenant, topic, retention_ms, max_retention_ms) VALUES (?, ?, ?, ?)
   ON DUPLICATE KEY UPDATE retention_ms = VALUES(retention_ms), max_retention_ms = VALUES(max_retention_ms)`,
  { isIdempotent: true },
);

export const TOPICS_TABLE_STATEMENTS: readonly Statement[] = [LIST, FIND, MAKE, SAVE];

/** Topics and their settings. */
export class TopicsTable {
  private readonly tenant: string;

  constructor(tenant: string) {
    this.tenant = tenant;
  }

  /**
   * Makes the topic if it does not exist. Ordinary and dead-letter topics have a limit each, so that neither can use
   * up the other's; a dead letter of an existing topic is never refused. Costs nothing when the topic is known.
   */
  async open(run: Operation, topic: string, making: "within limits" | "always"): Promise<void> {
    const { knownTopics } = run.database;
    if (knownTopics.has(this.tenant, topic)) return;
    if ((await this.find(run, topic)) === null) {
      if (making === "within limits") await this.refuseAboveLimit(run, topic);
      const { retentionMs, maxRetentionMs } = defaultTopicSettings(topic);
      await run.execute(MAKE, [this.tenant, topic, retentionMs, maxRetentionMs]);
    }
    knownTopics.add(this.tenant, topic);
  }

  async find(run: Operation, topic: string): Promise<TopicRecord | null> {
    const { rows } = await run.execute(FIND, [this.tenant, topic]);
    return rows[0] ? recordOf(rows[0]) : null;
  }

  async list(run: Operation): Promise<TopicRecord[]> {
    const { rows } = await run.execute(LIST, [this.tenant]);
    return rows.map(recordOf);
  }

  async save(run: Operation, topic: string, settings: TopicSettings): Promise<void> {
    await run.execute(SAVE, [this.tenant, topic, settings.retentionMs, settings.maxRetentionMs]);
  }

  private async refuseAboveLimit(run: Operation, topic: string): Promise<void> {
    const deadLetters = isDeadLetterTopic(topic);
    const alike = (await this.list(run)).filter((record) => isDeadLetterTopic(record.topic) === deadLetters);
    if (alike.length >= MAX_TOPICS_PER_TENANT) {
      fail("rate-limited", `the tenant has ${MAX_TOPICS_PER_TENANT} topics, the most it may have`);
    }
  }
}

function recordOf(row: SqlRow): TopicRecord {
  return {
    topic: text(row, "topic"),
    settings: { retentionMs: number(row, "retention_ms"), maxRetentionMs: number(row, "max_retention_ms") },
  };
}
