-- Who owns a lane. It lives as long as its subscriber's heartbeat, so renewing a lease writes no row here.
CREATE TABLE queue_partition_leases (
  tenant TEXT NOT NULL,
  topic TEXT NOT NULL,
  group_name TEXT NOT NULL,
  partition_key TEXT NOT NULL,
  subscriber TEXT NOT NULL,
  -- max(previous + 1, clock in ms): grows with every change of owner.
  epoch INTEGER NOT NULL,
  acquired_at_ms INTEGER NOT NULL,
  -- Serves: load the leases of a group, write one.
  PRIMARY KEY (tenant, topic, group_name, partition_key)
) WITHOUT ROWID;
