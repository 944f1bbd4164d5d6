-- Topics and their settings. Made by the first publish, receive or PUT; never deleted.
CREATE TABLE queue_topics (
  tenant TEXT NOT NULL,
  topic TEXT NOT NULL,
  -- How long a message and its ID are kept after it was published, at least. Milliseconds.
  retention_ms INTEGER NOT NULL,
  -- When a message goes even unsettled, counted from when it was due. Milliseconds.
  max_retention_ms INTEGER NOT NULL,
  -- Every deleted message had an offset at or below it: offsets do not go back when the topic is emptied.
  collected_offset INTEGER NOT NULL,
  -- Serves: look a topic up, list topics.
  PRIMARY KEY (tenant, topic)
) STRICT, WITHOUT ROWID;
