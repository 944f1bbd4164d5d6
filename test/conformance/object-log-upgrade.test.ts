import { expect, test } from "vitest";
import { migrate } from "../../src/durable/migrate.ts";
import { DeliveryStateTable } from "../../src/durable/tables/delivery-state.ts";
import { ObjectLog } from "../../src/log/object/object-log.ts";
import { OBJECT_SCHEMA } from "../../src/log/object/schema.generated.ts";
import { NodeSql } from "../sim/node-sql.ts";
import { checkpoint, GROUP, group, reset, rowOf, rowOfReset, TOPIC } from "./samples.ts";

const clock = { nowMs: () => Date.UTC(2026, 0, 1) };
const CHECKPOINTS = "queue_offsets_checkpoint.sql";
const DELIVERED = "queue_delivery_state_delivered.sql";

test("progress from before there were checkpoints is that of resets, and goes on as such", async () => {
  const sql = new NodeSql();
  const before = OBJECT_SCHEMA.filter(({ name }) => name !== CHECKPOINTS);
  expect(before).toHaveLength(OBJECT_SCHEMA.length - 1);
  migrate(sql, clock, before);
  sql.run(
    `INSERT INTO queue_offsets (tenant, topic, group_name, partition_key, generation, reset_epoch,
       acked_offset, acked_above) VALUES (?, ?, ?, 'k', 1, 2, 50, '')`,
    "acme",
    TOPIC,
    GROUP,
  );
  expect(migrate(sql, clock, OBJECT_SCHEMA)).toEqual([CHECKPOINTS]);

  const log = new ObjectLog("acme", sql, clock);
  await log.saveGroup(TOPIC, group());
  const kept = reset({ resetEpoch: 2, offset: 50 });
  expect(await log.loadProgress(TOPIC, GROUP, ["k"])).toEqual([rowOfReset(kept)]);
  const further = checkpoint({ resetEpoch: 2, ackedOffset: 60 });
  await log.saveProgress(TOPIC, GROUP, [further]);
  expect(await log.loadProgress(TOPIC, GROUP, ["k"])).toEqual([rowOf(further, 50)]);
});

test("a delivery from before it was kept is out since a time that is not known; the next one's is", () => {
  const sql = new NodeSql();
  migrate(
    sql,
    clock,
    OBJECT_SCHEMA.filter(({ name }) => name !== DELIVERED),
  );
  sql.run(
    `INSERT INTO queue_delivery_state (tenant, topic, group_name, partition_key, message_offset, state, attempt,
       at_ms, nonce, subscriber, epoch, reason, body_bytes, due_at_ms)
     VALUES ('acme', ?, ?, 'k', 7, 'inFlight', 2, 900, 'n', 'ann', 3, '', 5, 100)`,
    TOPIC,
    GROUP,
  );
  expect(migrate(sql, clock, OBJECT_SCHEMA)).toEqual([DELIVERED]);
  const table = new DeliveryStateTable(sql);
  const key = { tenant: "acme", topic: TOPIC, group: GROUP };
  const [row] = table.load(key);
  expect(row?.exception).toMatchObject({ offset: 7, state: "inFlight", atMs: 900 });
  expect(row?.exception).not.toHaveProperty("deliveredAtMs");
  if (row) table.save(key, { partitionKey: "k", routeId: 0 }, { ...row.exception, deliveredAtMs: 800 });
  expect(table.load(key)[0]?.exception.deliveredAtMs).toBe(800);
});
