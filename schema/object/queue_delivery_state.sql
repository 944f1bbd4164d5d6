-- A lane of a group with something unsettled: how far it was walked, and its first deliveries in flight.
-- A lane without a row has everything settled up to the group's scan offset. Never one row a message.
CREATE TABLE queue_delivery_state (
  tenant TEXT NOT NULL,
  topic TEXT NOT NULL,
  group_name TEXT NOT NULL,
  partition_key TEXT NOT NULL,
  -- Everything at or below is settled unless it stands in `runs` or in queue_delivery_exceptions. An offset.
  walked_offset INTEGER NOT NULL,
  -- 1: the log may hold undelivered entries between walked_offset and the group's scan offset.
  has_more INTEGER NOT NULL,
  -- First deliveries: JSON [[nonce, subscriber, epoch, visible until in ms, [offset delta, body bytes, …]], …].
  runs TEXT NOT NULL,
  -- Serves: load the lanes of a group, write one lane.
  PRIMARY KEY (tenant, topic, group_name, partition_key)
) WITHOUT ROWID;
