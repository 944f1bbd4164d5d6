-- Topics and their settings. Made by the first publish, receive or PUT; never deleted.
CREATE TABLE queue_topics (
  -- Whose it is; decides the shard. ASCII.
  tenant VARCHAR(64) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  -- ASCII; a dead-letter topic's name ends in _dlq.
  topic VARCHAR(128) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  -- How long a message and its ID are kept after it was published, at least. Milliseconds.
  retention_ms BIGINT NOT NULL,
  -- When a message goes even unsettled, counted from when it was due. Milliseconds.
  max_retention_ms BIGINT NOT NULL,
  -- Serves: look a topic up, list topics.
  PRIMARY KEY (tenant, topic)
) ENGINE=InnoDB ROW_FORMAT=DYNAMIC DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;
