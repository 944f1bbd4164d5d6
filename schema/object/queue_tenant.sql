-- Whose object this is: one row, written by its first call.
CREATE TABLE queue_tenant (
  tenant TEXT NOT NULL PRIMARY KEY,
  -- Counts how often the object went from holding nothing to holding something: orders what it tells the
  -- registry of collections.
  activity INTEGER NOT NULL
) WITHOUT ROWID;
