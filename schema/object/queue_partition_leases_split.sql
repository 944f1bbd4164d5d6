-- What the lane inherited from other lanes of the partition and has not read yet: JSON of src/core/pending.ts; '' for nothing.
ALTER TABLE queue_partition_leases ADD COLUMN pending_ranges TEXT NOT NULL DEFAULT '';
