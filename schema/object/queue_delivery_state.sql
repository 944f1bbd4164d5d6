-- A message with a history, neither settled nor part of an untouched first delivery: one row each.
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
