// Made from schema/object/*.sql by `npm run schema:object`; change those, not this.

/** Every table of the tenant object, in the order of the files' names. */
export const OBJECT_SCHEMA: readonly { name: string; sql: string }[] = [
  {
    name: "queue_delivery_state.sql",
    sql: `-- A message with a history, neither settled nor part of an untouched first delivery: one row each.
CREATE TABLE queue_delivery_state (
  tenant TEXT NOT NULL,
  topic TEXT NOT NULL,
  group_name TEXT NOT NULL,
  partition_key TEXT NOT NULL,
  message_offset INTEGER NOT NULL,
  -- inFlight, backingOff, postponed, returned, arrived or dying: see src/core/lane.ts.
  state TEXT NOT NULL,
  -- Deliveries that count so far, the one in flight included.
  attempt INTEGER NOT NULL,
  -- Visible until, due, or failed at, by state; milliseconds since the epoch.
  at_ms INTEGER NOT NULL,
  -- Of the delivery in flight: random, names it in receipts; '' when none is.
  nonce TEXT NOT NULL,
  subscriber TEXT NOT NULL,
  -- inFlight: epoch of the lease; dying: reset epoch at the decision.
  epoch INTEGER NOT NULL,
  -- The last reason a consumer gave, at most 1000 characters.
  reason TEXT NOT NULL,
  -- Size of the body, in bytes: grants stop at the reply's limit without reading the log.
  body_bytes INTEGER NOT NULL,
  -- When the message was due, milliseconds since the epoch: its age counts from here.
  due_at_ms INTEGER NOT NULL,
  -- Serves: load a group's messages with a history, write one.
  PRIMARY KEY (tenant, topic, group_name, partition_key, message_offset)
) WITHOUT ROWID;
`,
  },
  {
    name: "queue_delivery_state_delivered.sql",
    sql: `-- When the delivery under way was handed out, milliseconds since the epoch; extending leaves it. 0: none is under way,
-- or it is from before there was this column. Beside it, an element at the end of each run of
-- queue_partition_leases.runs says the same of first deliveries.
ALTER TABLE queue_delivery_state ADD COLUMN delivered_at_ms INTEGER NOT NULL DEFAULT 0;
`,
  },
  {
    name: "queue_delivery_state_split.sql",
    sql: `-- Whose lane of the partition has the message: 0, the application's, else a route's ID.
ALTER TABLE queue_delivery_state ADD COLUMN route_id INTEGER NOT NULL DEFAULT 0;
-- The newest route that was asked whether it takes the message; 0: none was.
ALTER TABLE queue_delivery_state ADD COLUMN sorted_by INTEGER NOT NULL DEFAULT 0;
`,
  },
  {
    name: "queue_group_progress.sql",
    sql: `-- How far a group has read its topic, and figures for people. One row a group.
CREATE TABLE queue_group_progress (
  tenant TEXT NOT NULL,
  topic TEXT NOT NULL,
  group_name TEXT NOT NULL,
  -- The generation that this progress belongs to; progress of another one is not read.
  generation INTEGER NOT NULL,
  -- Every entry at or below was scanned: its lane has a row if it is unsettled. An offset.
  scan_offset INTEGER NOT NULL,
  -- Delayed entries up to (due_at_ms, due_offset) have arrived in their lanes.
  due_at_ms INTEGER NOT NULL,
  due_offset INTEGER NOT NULL,
  -- Highest lease epoch given; the next one is greater even if the clock steps back.
  last_epoch INTEGER NOT NULL,
  -- Counts offset resets: part of a dead letter's origin.
  reset_epoch INTEGER NOT NULL,
  -- Messages that ended by age, and by failing without dead letters. Counts.
  expired INTEGER NOT NULL,
  dropped INTEGER NOT NULL,
  -- Serves: load or write a group's progress; list the groups that have any.
  PRIMARY KEY (tenant, topic, group_name)
) WITHOUT ROWID;
`,
  },
  {
    name: "queue_group_progress_horizon.sql",
    sql: `-- For a log whose entries may appear below what was read (design.md G9).
-- Every entry at or below was read for certain: none appears there any more. An offset, at most scan_offset.
ALTER TABLE queue_group_progress ADD COLUMN sure_offset INTEGER NOT NULL DEFAULT 0;
-- Offsets above sure_offset that were read since the last row of queue_known_offsets, encoded; '' for none.
ALTER TABLE queue_group_progress ADD COLUMN known_offsets TEXT NOT NULL DEFAULT '';
-- Entries at or below were there when this object began: what of them the group had settled before, queue_offsets says.
ALTER TABLE queue_group_progress ADD COLUMN recover_through INTEGER NOT NULL DEFAULT 0;
`,
  },
  {
    name: "queue_groups.sql",
    sql: `-- Consumer groups and their settings. A deleted group's row stays a while as a tombstone.
CREATE TABLE queue_groups (
  tenant TEXT NOT NULL,
  topic TEXT NOT NULL,
  group_name TEXT NOT NULL,
  -- Tells this group from earlier ones of its name. Never used twice within a tenant.
  generation INTEGER NOT NULL,
  -- How long a delivery may take before it counts as lost. Milliseconds.
  visibility_timeout_ms INTEGER NOT NULL,
  -- How long a lease lasts after a heartbeat. Milliseconds.
  lease_duration_ms INTEGER NOT NULL,
  -- Deliveries under way in one lane at a time, at most. 1: strict.
  max_in_flight_per_partition INTEGER NOT NULL,
  -- Deliveries after which a message is a dead letter.
  max_attempts INTEGER NOT NULL,
  -- Wait before the second attempt. Milliseconds.
  initial_backoff_ms INTEGER NOT NULL,
  -- Each further wait is this many times the one before.
  backoff_multiplier REAL NOT NULL,
  -- Longest wait. Milliseconds.
  max_backoff_ms INTEGER NOT NULL,
  -- 1: failed messages are copied to the dead-letter topic; 0: they are dropped.
  dead_letters INTEGER NOT NULL,
  -- 'earliest' or 'latest': where a new group begins.
  start_from TEXT NOT NULL,
  -- 1: nothing is delivered.
  paused INTEGER NOT NULL,
  -- 'admin' or 'receive'.
  created_by TEXT NOT NULL,
  -- Offset: entries at or below it were there before a group that starts from latest.
  start_offset INTEGER NOT NULL,
  -- Milliseconds since the epoch; NULL while the group exists.
  deleted_at_ms INTEGER,
  -- Serves: look a group up, list a topic's groups.
  PRIMARY KEY (tenant, topic, group_name)
) STRICT, WITHOUT ROWID;
`,
  },
  {
    name: "queue_known_offsets.sql",
    sql: `-- Offsets above a group's sure_offset that were read, in chunks: an entry that appears among them later is a late one.
-- A chunk goes when sure_offset has passed it.
CREATE TABLE queue_known_offsets (
  tenant TEXT NOT NULL,
  topic TEXT NOT NULL,
  group_name TEXT NOT NULL,
  -- Highest offset of the chunk. No two chunks have the same.
  last_offset INTEGER NOT NULL,
  -- The offsets, encoded by src/core/known-offsets.ts.
  known_offsets TEXT NOT NULL,
  -- Serves: load a group's chunks, write one, delete those that were passed.
  PRIMARY KEY (tenant, topic, group_name, last_offset)
) WITHOUT ROWID;
`,
  },
  {
    name: "queue_messages.sql",
    sql: `-- The log: what was published to a topic, immutable, until collection deletes it.
CREATE TABLE queue_messages (
  tenant TEXT NOT NULL,
  topic TEXT NOT NULL,
  -- Place in the topic's log: at least the clock in microseconds since 2020-01-01 UTC. Grows, is not dense.
  message_offset INTEGER NOT NULL,
  -- The unit of order. 1 to 255 code points, compared byte for byte.
  partition_key TEXT NOT NULL,
  -- Names the occasion of publishing. 1 to 255 code points, compared byte for byte.
  message_id TEXT NOT NULL,
  -- '' for a publish; else which dead-lettering or redrive made this row.
  origin TEXT NOT NULL,
  -- The only group that receives it (a redriven message); NULL: every group.
  target_group TEXT,
  -- When it was stored, milliseconds since the epoch.
  published_at_ms INTEGER NOT NULL,
  -- When it may be delivered, milliseconds since the epoch; later than published_at_ms when delayed.
  due_at_ms INTEGER NOT NULL,
  -- NULL: the body is JSON source text; else the media type of its bytes.
  content_type TEXT,
  -- JSON object of lower-case names and string values, as text; '' for none.
  headers TEXT NOT NULL,
  -- In a dead-letter topic: DeadLetterInfo as JSON. NULL elsewhere.
  dead_letter TEXT,
  -- Size of body, bytes.
  body_bytes INTEGER NOT NULL,
  -- TEXT: JSON source; BLOB: bytes. Last, so that reading the columns before it skips its overflow pages.
  body ANY NOT NULL,
  -- Serves: scan a topic, read by offset, delete by range.
  PRIMARY KEY (tenant, topic, message_offset)
) STRICT, WITHOUT ROWID;

-- Serves: refuse a second message of the same ID and origin; find messages by ID.
CREATE UNIQUE INDEX queue_messages_by_id ON queue_messages (tenant, topic, partition_key, message_id, origin);

-- Serves: scan one partition; list partitions.
CREATE INDEX queue_messages_by_partition ON queue_messages (tenant, topic, partition_key, message_offset);

-- Serves: find delayed messages that became due. Holds delayed messages only.
CREATE INDEX queue_messages_by_due ON queue_messages (tenant, topic, due_at_ms, message_offset)
  WHERE due_at_ms > published_at_ms;
`,
  },
  {
    name: "queue_offsets.sql",
    sql: `-- Checkpointed progress of a group in a partition.
CREATE TABLE queue_offsets (
  tenant TEXT NOT NULL,
  topic TEXT NOT NULL,
  group_name TEXT NOT NULL,
  partition_key TEXT NOT NULL,
  -- Of the group that made this progress: fences off savers of an earlier group of the name.
  generation INTEGER NOT NULL,
  -- Counts offset resets: fences off savers from before a reset.
  reset_epoch INTEGER NOT NULL,
  -- The watermark: everything at or below is settled. An offset.
  acked_offset INTEGER NOT NULL,
  -- Settled ranges above the watermark, as the object encodes them; '' for none.
  acked_above TEXT NOT NULL,
  -- Serves: load and save progress.
  PRIMARY KEY (tenant, topic, group_name, partition_key)
) STRICT, WITHOUT ROWID;
`,
  },
  {
    name: "queue_offsets_checkpoint.sql",
    sql: `-- Further columns of queue_offsets: what a checkpoint says beside the watermark, and the last reset. Now acked_offset
-- means: everything at or below it is settled, except what \`unsettled\` lists and delayed messages that had not arrived
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
`,
  },
  {
    name: "queue_partition_leases.sql",
    sql: `-- A lane of a group: who owns it, how far it was walked, and its first deliveries in flight. It has a row while it is
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
  -- Everything at or below is settled unless it stands in \`runs\` or in queue_delivery_state. An offset.
  walked_offset INTEGER NOT NULL,
  -- 1: the log may hold undelivered entries between walked_offset and the group's scan offset.
  has_more INTEGER NOT NULL,
  -- First deliveries: JSON [[nonce, subscriber, epoch, visible until in ms, [offset delta, body bytes, due delta in ms, ...]], ...].
  runs TEXT NOT NULL,
  -- Serves: load the lanes of a group, write one lane.
  PRIMARY KEY (tenant, topic, group_name, partition_key)
) WITHOUT ROWID;
`,
  },
  {
    name: "queue_partition_leases_settled.sql",
    sql: `-- Offsets that were settled since the lane's progress was last saved to a log outside the object, encoded; '' for none.
ALTER TABLE queue_partition_leases ADD COLUMN settled_offsets TEXT NOT NULL DEFAULT '';
`,
  },
  {
    name: "queue_partition_leases_split.sql",
    sql: `-- What the lane inherited from other lanes of the partition and has not read yet: JSON of src/core/pending.ts; '' for nothing.
ALTER TABLE queue_partition_leases ADD COLUMN pending_ranges TEXT NOT NULL DEFAULT '';
`,
  },
  {
    name: "queue_route_leases.sql",
    sql: `-- Lanes of routes: what queue_partition_leases is for the application's lanes. A partition of a group has one row there
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
  -- Everything of the route at or below is settled unless it stands in \`runs\` or in queue_delivery_state. An offset.
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
`,
  },
  {
    name: "queue_routes.sql",
    sql: `-- Routes of groups: whose messages go to subscribers of their own. One row a route, one more of a group that has any.
CREATE TABLE queue_routes (
  tenant TEXT NOT NULL,
  topic TEXT NOT NULL,
  group_name TEXT NOT NULL,
  -- Never used twice within a group, and grows. 0: the row counts what the application gets beside the routes.
  route_id INTEGER NOT NULL,
  -- Its name; '' of the application. No two live routes of a group have the same.
  route TEXT NOT NULL,
  -- Which messages it takes: JSON of src/splitting/filter/filter.ts; '' of the application.
  filter TEXT NOT NULL,
  -- It ends when nobody renewed it for so long. Milliseconds.
  ttl_ms INTEGER NOT NULL,
  -- Milliseconds since the epoch.
  started_at_ms INTEGER NOT NULL,
  -- Unless it is renewed. Milliseconds since the epoch; moved on when the difference is worth a row.
  expires_at_ms INTEGER NOT NULL,
  -- 1: it has ended, and is kept while pending_ranges of a lane name it.
  ended INTEGER NOT NULL,
  -- Messages that went there, each counted at its first delivery.
  delivered INTEGER NOT NULL,
  -- Serves: load a group's routes, write one.
  PRIMARY KEY (tenant, topic, group_name, route_id)
) WITHOUT ROWID;
`,
  },
  {
    name: "queue_subscriber_heartbeats.sql",
    sql: `-- The live subscribers of a group. Written when a heartbeat moves it noticeably, not on every call.
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
`,
  },
  {
    name: "queue_subscriber_heartbeats_route.sql",
    sql: `-- The route that the subscriber is attached to, an ID of queue_routes; 0: none.
ALTER TABLE queue_subscriber_heartbeats ADD COLUMN route_id INTEGER NOT NULL DEFAULT 0;
`,
  },
  {
    name: "queue_tenant.sql",
    sql: `-- Whose object this is: one row, written by its first call.
CREATE TABLE queue_tenant (
  tenant TEXT NOT NULL PRIMARY KEY,
  -- Counts how often the object went from holding nothing to holding something: orders what it tells the
  -- registry of collections.
  activity INTEGER NOT NULL
) WITHOUT ROWID;
`,
  },
  {
    name: "queue_tenant_log.sql",
    sql: `-- Which log the object was made for, 'object' or 'vitess': one that finds the other must not go on with its rows.
ALTER TABLE queue_tenant ADD COLUMN message_log TEXT NOT NULL DEFAULT 'object';
`,
  },
  {
    name: "queue_topics.sql",
    sql: `-- Topics and their settings. Made by the first publish, receive or PUT; never deleted.
CREATE TABLE queue_topics (
  tenant TEXT NOT NULL,
  topic TEXT NOT NULL,
  -- How long a message and its ID are kept after it was published, at least. Milliseconds.
  retention_ms INTEGER NOT NULL,
  -- When a message goes even unsettled, counted from when it was due. Milliseconds.
  max_retention_ms INTEGER NOT NULL,
  -- Every deleted message had an offset at or below it: offsets do not go back when the topic is emptied.
  collected_offset INTEGER NOT NULL,
  -- Serves: look a topic up, list topics.
  PRIMARY KEY (tenant, topic)
) STRICT, WITHOUT ROWID;
`,
  },
];
