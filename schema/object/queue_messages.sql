-- The log: what was published to a topic, immutable, until collection deletes it.
CREATE TABLE queue_messages (
  tenant TEXT NOT NULL,
  topic TEXT NOT NULL,
  -- Place in the topic's log: at least the clock in microseconds since 2020-01-01 UTC. Grows, is not dense.
  message_offset INTEGER NOT NULL,
  -- The unit of order. 1 to 255 code points, compared byte for byte.
  partition_key TEXT NOT NULL,
  -- Names the occasion of publishing. 1 to 255 code points, compared byte for byte.
  message_id TEXT NOT NULL,
  -- '' for a publish; else which dead-lettering or redrive made this row.
  origin TEXT NOT NULL,
  -- The only group that receives it (a redriven message); NULL: every group.
  target_group TEXT,
  -- When it was stored, milliseconds since the epoch.
  published_at_ms INTEGER NOT NULL,
  -- When it may be delivered, milliseconds since the epoch; later than published_at_ms when delayed.
  due_at_ms INTEGER NOT NULL,
  -- NULL: the body is JSON source text; else the media type of its bytes.
  content_type TEXT,
  -- JSON object of lower-case names and string values, as text; '' for none.
  headers TEXT NOT NULL,
  -- In a dead-letter topic: DeadLetterInfo as JSON. NULL elsewhere.
  dead_letter TEXT,
  -- Size of body, bytes.
  body_bytes INTEGER NOT NULL,
  -- TEXT: JSON source; BLOB: bytes. Last, so that reading the columns before it skips its overflow pages.
  body ANY NOT NULL,
  -- Serves: scan a topic, read by offset, delete by range.
  PRIMARY KEY (tenant, topic, message_offset)
) STRICT, WITHOUT ROWID;

-- Serves: refuse a second message of the same ID and origin; find messages by ID.
CREATE UNIQUE INDEX queue_messages_by_id ON queue_messages (tenant, topic, partition_key, message_id, origin);

-- Serves: scan one partition; list partitions.
CREATE INDEX queue_messages_by_partition ON queue_messages (tenant, topic, partition_key, message_offset);

-- Serves: find delayed messages that became due. Holds delayed messages only.
CREATE INDEX queue_messages_by_due ON queue_messages (tenant, topic, due_at_ms, message_offset)
  WHERE due_at_ms > published_at_ms;
