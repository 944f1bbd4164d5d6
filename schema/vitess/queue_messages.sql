-- The log: what was published to a topic, immutable, until collection deletes it.
CREATE TABLE queue_messages (
  -- Whose it is; decides the shard. ASCII.
  tenant VARCHAR(64) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  -- ASCII; a dead-letter topic's name ends in _dlq.
  topic VARCHAR(128) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  -- Place in the topic's log: the database's clock at the publishing statement, microseconds since 2020-01-01 UTC,
  -- plus the place in the batch. Grows, is not dense.
  message_offset BIGINT NOT NULL,
  -- The unit of order. 1 to 255 code points of UTF-8 (utf8mb4), compared and sorted byte for byte. A text column would
  -- not do that: utf8mb4_bin pads with spaces, so that a key "a" with a tab behind it sorts before "a", and a key that
  -- begins with a control character before the empty text.
  partition_key VARBINARY(1020) NOT NULL,
  -- Names the occasion of publishing. As partition_key.
  message_id VARBINARY(1020) NOT NULL,
  -- '' for a publish; else which dead-lettering or redrive made this row. ASCII.
  origin VARCHAR(192) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  -- The only group that receives it (a redriven message); NULL: every group.
  target_group VARCHAR(128) CHARACTER SET ascii COLLATE ascii_bin NULL,
  -- The database's clock at the publishing statement, milliseconds since the epoch.
  published_at_ms BIGINT NOT NULL,
  -- When it may be delivered, milliseconds since the epoch; later than published_at_ms when delayed.
  due_at_ms BIGINT NOT NULL,
  -- due_at_ms of a delayed message; NULL for all others.
  delayed_due_at_ms BIGINT NULL,
  -- NULL: the body is JSON source text; else the media type of its bytes. UTF-8.
  content_type VARBINARY(1020) NULL,
  -- JSON object of lower-case names and string values, as UTF-8 text; '' for none.
  headers BLOB NOT NULL,
  -- In a dead-letter topic: which failure made it, a JSON object as UTF-8 text. NULL elsewhere.
  dead_letter BLOB NULL,
  -- Size of body, bytes.
  body_bytes INT NOT NULL,
  -- UTF-8 JSON source, or bytes, as they were published.
  body MEDIUMBLOB NOT NULL,
  -- Serves: scan a topic, read by offset, delete by range, the tail.
  PRIMARY KEY (tenant, topic, message_offset),
  -- Serves: refuse a second message of the same ID and origin; find messages by ID.
  UNIQUE KEY queue_messages_by_id (tenant, topic, partition_key, message_id, origin),
  -- Serves: scan one partition; list partitions.
  KEY queue_messages_by_partition (tenant, topic, partition_key, message_offset),
  -- Serves: find delayed messages that became due, past the NULLs of all others.
  KEY queue_messages_by_due (tenant, topic, delayed_due_at_ms, message_offset)
) ENGINE=InnoDB ROW_FORMAT=DYNAMIC DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;
