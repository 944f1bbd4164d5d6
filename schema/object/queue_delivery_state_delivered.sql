-- When the delivery under way was handed out, milliseconds since the epoch; extending leaves it. 0: none is under way,
-- or it is from before there was this column. Beside it, an element at the end of each run of
-- queue_partition_leases.runs says the same of first deliveries.
ALTER TABLE queue_delivery_state ADD COLUMN delivered_at_ms INTEGER NOT NULL DEFAULT 0;
