-- Offsets that were settled since the lane's progress was last saved to a log outside the object, encoded; '' for none.
ALTER TABLE queue_partition_leases ADD COLUMN settled_offsets TEXT NOT NULL DEFAULT '';
