-- The route that the subscriber is attached to, an ID of queue_routes; 0: none.
ALTER TABLE queue_subscriber_heartbeats ADD COLUMN route_id INTEGER NOT NULL DEFAULT 0;
