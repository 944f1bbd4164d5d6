import type { Tables } from "../../../scripts/lint-shards/bound-rules.ts";
import { statementViolations } from "../../../scripts/lint-shards/statement-rules.ts";
import { parseCreateTable } from "../../../scripts/schema/create-table.ts";

/** Two small tables that keep every rule. */
export const MESSAGES = `
-- What was published.
CREATE TABLE messages (
  -- Whose it is.
  tenant VARCHAR(64) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  -- Its topic.
  topic VARCHAR(128) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  -- Its place.
  message_offset BIGINT NOT NULL,
  -- The unit of order.
  partition_key VARCHAR(255) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL,
  -- What was sent.
  body MEDIUMBLOB NOT NULL,
  -- Serves: scan a topic.
  PRIMARY KEY (tenant, topic, message_offset),
  -- Serves: scan a partition.
  KEY messages_by_partition (tenant, topic, partition_key, message_offset)
) ENGINE=InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;`;

export const TOPICS = `
CREATE TABLE topics (
  tenant VARCHAR(64) CHARACTER SET ascii COLLATE ascii_bin NOT NULL COMMENT 'Whose it is.',
  topic VARCHAR(128) CHARACTER SET ascii COLLATE ascii_bin NOT NULL COMMENT 'Its name.',
  retention_ms BIGINT NOT NULL COMMENT 'How long messages stay. Milliseconds.',
  PRIMARY KEY (tenant, topic) COMMENT 'Serves: look a topic up.'
) ENGINE=InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;`;

export const TABLES: Tables = new Map(
  [MESSAGES, TOPICS].map((sql) => {
    const table = parseCreateTable(sql);
    return [table.name, table];
  }),
);

/** The rules that a statement breaks, each once, in the order of the alphabet. */
export function brokenRules(sql: string): string[] {
  const found = statementViolations({ name: "planted", sql }, TABLES);
  return [...new Set(found.map(({ rule }) => rule))].sort();
}
