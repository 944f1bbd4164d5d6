-- How far a group has read its topic, and figures for people. One row a group.
CREATE TABLE queue_group_progress (
  tenant TEXT NOT NULL,
  topic TEXT NOT NULL,
  group_name TEXT NOT NULL,
  -- The generation that this progress belongs to; progress of another one is not read.
  generation INTEGER NOT NULL,
  -- Every entry at or below was scanned: its lane has a row if it is unsettled. An offset.
  scan_offset INTEGER NOT NULL,
  -- Delayed entries up to (due_at_ms, due_offset) have arrived in their lanes.
  due_at_ms INTEGER NOT NULL,
  due_offset INTEGER NOT NULL,
  -- Highest lease epoch given; the next one is greater even if the clock steps back.
  last_epoch INTEGER NOT NULL,
  -- Counts offset resets: part of a dead letter's origin.
  reset_epoch INTEGER NOT NULL,
  -- Messages that ended by age, and by failing without dead letters. Counts.
  expired INTEGER NOT NULL,
  dropped INTEGER NOT NULL,
  -- Serves: load or write a group's progress; list the groups that have any.
  PRIMARY KEY (tenant, topic, group_name)
) WITHOUT ROWID;
