-- Checkpointed progress of a group in a partition.
CREATE TABLE queue_offsets (
  tenant TEXT NOT NULL,
  topic TEXT NOT NULL,
  group_name TEXT NOT NULL,
  partition_key TEXT NOT NULL,
  -- Of the group that made this progress: fences off savers of an earlier group of the name.
  generation INTEGER NOT NULL,
  -- Counts offset resets: fences off savers from before a reset.
  reset_epoch INTEGER NOT NULL,
  -- The watermark: everything at or below is settled. An offset.
  acked_offset INTEGER NOT NULL,
  -- Settled ranges above the watermark, as the object encodes them; '' for none.
  acked_above TEXT NOT NULL,
  -- Serves: load and save progress.
  PRIMARY KEY (tenant, topic, group_name, partition_key)
) STRICT, WITHOUT ROWID;
