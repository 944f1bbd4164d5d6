-- Which log the object was made for, 'object' or 'vitess': one that finds the other must not go on with its rows.
ALTER TABLE queue_tenant ADD COLUMN message_log TEXT NOT NULL DEFAULT 'object';
