-- Lanes of routes: what queue_partition_leases is for the application's lanes. A partition of a group has one row there
-- and one here for each route that has something of it.
CREATE TABLE queue_route_leases (
  tenant TEXT NOT NULL,
  topic TEXT NOT NULL,
  group_name TEXT NOT NULL,
  -- Of queue_routes.
  route_id INTEGER NOT NULL,
  partition_key TEXT NOT NULL,
  -- The owner; '' when the lane is free.
  subscriber TEXT NOT NULL,
  -- Of the lease: max(previous + 1, clock in ms), grows with every change of owner. 0 when free.
  epoch INTEGER NOT NULL,
  -- When the owner got it, milliseconds since the epoch. 0 when free.
  acquired_at_ms INTEGER NOT NULL,
  -- Everything of the route at or below is settled unless it stands in `runs` or in queue_delivery_state. An offset.
  walked_offset INTEGER NOT NULL,
  -- 1: the log may hold undelivered entries of the route between walked_offset and the group's scan offset.
  has_more INTEGER NOT NULL,
  -- First deliveries, as in queue_partition_leases.
  runs TEXT NOT NULL,
  -- Offsets that were settled since the last checkpoint, encoded; '' for none.
  settled_offsets TEXT NOT NULL,
  -- What the lane inherited and has not read yet, as in queue_partition_leases.
  pending_ranges TEXT NOT NULL,
  -- Serves: load the lanes of a group's routes, write one lane.
  PRIMARY KEY (tenant, topic, group_name, route_id, partition_key)
) WITHOUT ROWID;
