-- The live subscribers of a group. Written when a heartbeat moves it noticeably, not on every call.
CREATE TABLE queue_subscriber_heartbeats (
  tenant TEXT NOT NULL,
  topic TEXT NOT NULL,
  group_name TEXT NOT NULL,
  subscriber TEXT NOT NULL,
  -- Last heartbeat, milliseconds since the epoch.
  beat_at_ms INTEGER NOT NULL,
  -- Its leases end then.
  expires_at_ms INTEGER NOT NULL,
  -- Serves: load the subscribers of a group, write one.
  PRIMARY KEY (tenant, topic, group_name, subscriber)
) WITHOUT ROWID;
