-- For a log whose entries may appear below what was read (design.md G9).
-- Every entry at or below was read for certain: none appears there any more. An offset, at most scan_offset.
ALTER TABLE queue_group_progress ADD COLUMN sure_offset INTEGER NOT NULL DEFAULT 0;
-- Offsets above sure_offset that were read since the last row of queue_known_offsets, encoded; '' for none.
ALTER TABLE queue_group_progress ADD COLUMN known_offsets TEXT NOT NULL DEFAULT '';
-- Entries at or below were there when this object began: what of them the group had settled before, queue_offsets says.
ALTER TABLE queue_group_progress ADD COLUMN recover_through INTEGER NOT NULL DEFAULT 0;
