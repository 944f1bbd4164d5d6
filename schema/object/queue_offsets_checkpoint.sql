-- Further columns of queue_offsets: what a checkpoint says beside the watermark, and the last reset. Now acked_offset
-- means: everything at or below it is settled, except what `unsettled` lists and delayed messages that had not arrived
-- by (due_at_ms, due_offset).

-- Offsets at or below acked_offset that are not settled, as the object encodes them; '' for none.
ALTER TABLE queue_offsets ADD COLUMN unsettled TEXT NOT NULL DEFAULT '';

-- Delayed messages up to (due_at_ms, due_offset) had arrived in their lanes: milliseconds since the epoch, and an
-- offset. 0, 0: none had.
ALTER TABLE queue_offsets ADD COLUMN due_at_ms INTEGER NOT NULL DEFAULT 0;
ALTER TABLE queue_offsets ADD COLUMN due_offset INTEGER NOT NULL DEFAULT 0;

-- Where the partition was last reset to: what was delayed and not due then is settled up to here. An offset; 0: never.
ALTER TABLE queue_offsets ADD COLUMN reset_offset INTEGER NOT NULL DEFAULT 0;

-- Nothing but resets wrote rows before these columns.
UPDATE queue_offsets SET reset_offset = acked_offset;
