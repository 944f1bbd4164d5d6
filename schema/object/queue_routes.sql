-- Routes of groups: whose messages go to subscribers of their own. One row a route, one more of a group that has any.
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
