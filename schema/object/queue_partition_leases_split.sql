-- What the lane inherited from lanes of ended routes and has not read yet: JSON of src/core/pending.ts; '' for nothing.
ALTER TABLE queue_partition_leases ADD COLUMN pending_ranges TEXT NOT NULL DEFAULT '';
