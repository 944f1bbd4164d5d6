-- Consumer groups and their settings. A deleted group's row stays a while as a tombstone.
CREATE TABLE queue_groups (
  tenant TEXT NOT NULL,
  topic TEXT NOT NULL,
  group_name TEXT NOT NULL,
  -- Tells this group from earlier ones of its name. Never used twice within a tenant.
  generation INTEGER NOT NULL,
  -- How long a delivery may take before it counts as lost. Milliseconds.
  visibility_timeout_ms INTEGER NOT NULL,
  -- How long a lease lasts after a heartbeat. Milliseconds.
  lease_duration_ms INTEGER NOT NULL,
  -- Deliveries under way in one lane at a time, at most. 1: strict.
  max_in_flight_per_partition INTEGER NOT NULL,
  -- Deliveries after which a message is a dead letter.
  max_attempts INTEGER NOT NULL,
  -- Wait before the second attempt. Milliseconds.
  initial_backoff_ms INTEGER NOT NULL,
  -- Each further wait is this many times the one before.
  backoff_multiplier REAL NOT NULL,
  -- Longest wait. Milliseconds.
  max_backoff_ms INTEGER NOT NULL,
  -- 1: failed messages are copied to the dead-letter topic; 0: they are dropped.
  dead_letters INTEGER NOT NULL,
  -- 'earliest' or 'latest': where a new group begins.
  start_from TEXT NOT NULL,
  -- 1: nothing is delivered.
  paused INTEGER NOT NULL,
  -- 'admin' or 'receive'.
  created_by TEXT NOT NULL,
  -- Offset: entries at or below it were there before a group that starts from latest.
  start_offset INTEGER NOT NULL,
  -- Milliseconds since the epoch; NULL while the group exists.
  deleted_at_ms INTEGER,
  -- Serves: look a group up, list a topic's groups.
  PRIMARY KEY (tenant, topic, group_name)
) STRICT, WITHOUT ROWID;
