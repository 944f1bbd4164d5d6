-- Consumer groups and their settings. A deleted group's row stays a while as a tombstone.
CREATE TABLE queue_groups (
  -- Whose it is; decides the shard. ASCII.
  tenant VARCHAR(64) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  -- ASCII.
  topic VARCHAR(128) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  -- ASCII.
  group_name VARCHAR(128) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  -- Tells this group from earlier ones of its name. Never used twice within a tenant.
  generation BIGINT NOT NULL,
  -- How long a delivery may take before it counts as lost. Milliseconds.
  visibility_timeout_ms BIGINT NOT NULL,
  -- How long a lease lasts after a heartbeat. Milliseconds.
  lease_duration_ms BIGINT NOT NULL,
  -- Deliveries under way in one lane at a time, at most. 1: strict.
  max_in_flight_per_partition INT NOT NULL,
  -- Deliveries after which a message is a dead letter.
  max_attempts INT NOT NULL,
  -- Wait before the second attempt. Milliseconds.
  initial_backoff_ms BIGINT NOT NULL,
  -- Each further wait is this many times the one before.
  backoff_multiplier DOUBLE NOT NULL,
  -- Longest wait. Milliseconds.
  max_backoff_ms BIGINT NOT NULL,
  -- 1: failed messages are copied to the dead-letter topic; 0: they are dropped.
  dead_letters TINYINT NOT NULL,
  -- 'earliest' or 'latest': where a new group begins.
  start_from VARCHAR(16) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  -- 1: nothing is delivered.
  paused TINYINT NOT NULL,
  -- 'admin' or 'receive'.
  created_by VARCHAR(16) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  -- Offset: entries at or below it were there before a group that starts from latest.
  start_offset BIGINT NOT NULL,
  -- Milliseconds since the epoch; NULL while the group exists.
  deleted_at_ms BIGINT NULL,
  -- Serves: look a group up, list a topic's groups, list all groups in pages.
  PRIMARY KEY (tenant, topic, group_name)
) ENGINE=InnoDB ROW_FORMAT=DYNAMIC DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;
