-- Offsets above a group's sure_offset that were read, in chunks: an entry that appears among them later is a late one.
-- A chunk goes when sure_offset has passed it.
CREATE TABLE queue_known_offsets (
  tenant TEXT NOT NULL,
  topic TEXT NOT NULL,
  group_name TEXT NOT NULL,
  -- Highest offset of the chunk. No two chunks have the same.
  last_offset INTEGER NOT NULL,
  -- The offsets, encoded by src/core/known-offsets.ts.
  known_offsets TEXT NOT NULL,
  -- Serves: load a group's chunks, write one, delete those that were passed.
  PRIMARY KEY (tenant, topic, group_name, last_offset)
) WITHOUT ROWID;
