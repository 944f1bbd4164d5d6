-- Whose lane of the partition has the message: 0, the application's, else a route's ID.
ALTER TABLE queue_delivery_state ADD COLUMN route_id INTEGER NOT NULL DEFAULT 0;
-- The newest route that was asked whether it takes the message; 0: none was.
ALTER TABLE queue_delivery_state ADD COLUMN sorted_by INTEGER NOT NULL DEFAULT 0;
