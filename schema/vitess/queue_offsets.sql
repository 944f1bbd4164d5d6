-- Checkpointed progress of a group in a partition.
CREATE TABLE queue_offsets (
  -- Whose it is; decides the shard. ASCII.
  tenant VARCHAR(64) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  -- ASCII.
  topic VARCHAR(128) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  -- ASCII.
  group_name VARCHAR(128) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  -- As in queue_messages.
  partition_key VARBINARY(1020) NOT NULL,
  -- Of the group that made this progress: fences off savers of an earlier group of the name.
  generation BIGINT NOT NULL,
  -- Names the last offset reset: fences off savers from before it.
  reset_epoch BIGINT NOT NULL,
  -- Everything at or below is settled, but for unsettled and delayed messages that had not arrived. An offset.
  acked_offset BIGINT NOT NULL,
  -- Offsets at or below acked_offset that are not settled, as the object encodes them; '' for none. ASCII.
  unsettled VARBINARY(4096) NOT NULL,
  -- Offsets above acked_offset that are settled, as the object encodes them; '' for none. ASCII.
  acked_above VARBINARY(4096) NOT NULL,
  -- Delayed messages due up to here, and at due_offset, had arrived. Milliseconds since the epoch.
  due_at_ms BIGINT NOT NULL,
  -- Of those due exactly at due_at_ms, the last that had arrived. An offset.
  due_offset BIGINT NOT NULL,
  -- Where the partition was last reset to; 0: never. An offset.
  reset_offset BIGINT NOT NULL,
  -- Serves: load and save progress, list a group's partitions.
  PRIMARY KEY (tenant, topic, group_name, partition_key),
  -- Serves: the highest reset epoch of a generation, without reading its partitions.
  KEY queue_offsets_by_epoch (tenant, topic, group_name, generation, reset_epoch)
) ENGINE=InnoDB ROW_FORMAT=DYNAMIC DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;
