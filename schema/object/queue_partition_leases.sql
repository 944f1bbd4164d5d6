-- A lane of a group: who owns it, how far it was walked, and its first deliveries in flight. It has a row while it is
-- leased or has something unsettled; a lane without one has everything settled up to the group's scan offset. Never one
-- row a message. A lease lives as long as its subscriber's heartbeat, so renewing it writes no row here.
CREATE TABLE queue_partition_leases (
  tenant TEXT NOT NULL,
  topic TEXT NOT NULL,
  group_name TEXT NOT NULL,
  partition_key TEXT NOT NULL,
  -- The owner; '' when the lane is free.
  subscriber TEXT NOT NULL,
  -- Of the lease: max(previous + 1, clock in ms), grows with every change of owner. 0 when free.
  epoch INTEGER NOT NULL,
  -- When the owner got it, milliseconds since the epoch. 0 when free.
  acquired_at_ms INTEGER NOT NULL,
  -- Everything at or below is settled unless it stands in `runs` or in queue_delivery_state. An offset.
  walked_offset INTEGER NOT NULL,
  -- 1: the log may hold undelivered entries between walked_offset and the group's scan offset.
  has_more INTEGER NOT NULL,
  -- First deliveries: JSON [[nonce, subscriber, epoch, visible until in ms, [offset delta, body bytes, due delta in ms, ...]], ...].
  runs TEXT NOT NULL,
  -- Serves: load the lanes of a group, write one lane.
  PRIMARY KEY (tenant, topic, group_name, partition_key)
) WITHOUT ROWID;
