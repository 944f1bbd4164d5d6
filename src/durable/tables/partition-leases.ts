import { intervalsOf } from "../../core/checkpoint.ts";
import { decodeOffsets, encodeOffsets } from "../../core/known-offsets.ts";
import { Lane, type Run } from "../../core/lane.ts";
import type { Sql } from "../ports.ts";
import type { GroupKey } from "./group-key.ts";

type EncodedRun = [
  nonce: string,
  subscriber: string,
  epoch: number,
  visibleUntilMs: number,
  messages: number[],
  /** Rows from before there was this element end here. */
  deliveredAtMs?: number,
];

/** Eight parameters each, beside the three of the group, of the hundred that a statement may have. */
const MAX_LANES_A_STATEMENT = 12;
const upserts = new Map<number, string>();

function upsert(lanes: number): string {
  const known = upserts.get(lanes);
  if (known !== undefined) return known;
  const values = Array.from({ length: lanes }, () => "(?, ?, ?, ?, ?, ?, ?, ?)").join(", ");
  // SQLite wants a WHERE between a SELECT and ON CONFLICT.
  const text = `INSERT INTO queue_partition_leases (tenant, topic, group_name, partition_key, subscriber, epoch,
      acquired_at_ms, walked_offset, has_more, runs, settled_offsets)
    SELECT ?1, ?2, ?3, column1, column2, column3, column4, column5, column6, column7, column8 FROM (VALUES ${values})
    WHERE TRUE
    ON CONFLICT (tenant, topic, group_name, partition_key)
    DO UPDATE SET subscriber = excluded.subscriber, epoch = excluded.epoch,
      acquired_at_ms = excluded.acquired_at_ms, walked_offset = excluded.walked_offset,
      has_more = excluded.has_more, runs = excluded.runs, settled_offsets = excluded.settled_offsets`;
  upserts.set(lanes, text);
  return text;
}

function columns(lane: Lane): (string | number)[] {
  const { partitionKey, lease, walkedOffset, hasMore, runs, unsaved } = lane;
  return [
    partitionKey,
    lease?.subscriber ?? "",
    lease?.epoch ?? 0,
    lease?.acquiredAtMs ?? 0,
    walkedOffset,
    hasMore ? 1 : 0,
    encodeRuns(runs),
    unsaved ? encodeOffsets(intervalsOf(unsaved.toSorted((a, b) => a - b))) : "",
  ];
}

/** Lanes of a group that are leased or have something unsettled. */
export class PartitionLeasesTable {
  private readonly sql: Sql;

  constructor(sql: Sql) {
    this.sql = sql;
  }

  /** `tracksSettled`: the log is outside the object, and lanes note what they settle for the next checkpoint. */
  load(key: GroupKey, tracksSettled: boolean): Lane[] {
    const rows = this.sql.all(
      `SELECT partition_key, subscriber, epoch, acquired_at_ms, walked_offset, has_more, runs, settled_offsets
       FROM queue_partition_leases WHERE tenant = ? AND topic = ? AND group_name = ?`,
      key.tenant,
      key.topic,
      key.group,
    );
    return rows.map((row) => {
      const lane = new Lane(String(row.partition_key), Number(row.walked_offset));
      lane.behind = Number(row.has_more) === 1;
      lane.runs = decodeRuns(String(row.runs));
      if (tracksSettled) lane.unsaved = offsetsOf(String(row.settled_offsets));
      if (row.subscriber !== "") {
        lane.lease = {
          subscriber: String(row.subscriber),
          epoch: Number(row.epoch),
          acquiredAtMs: Number(row.acquired_at_ms),
        };
      }
      lane.hasRow = true;
      return lane;
    });
  }

  /** Many lanes in few statements: each costs the platform more than the row that it writes. */
  save(key: GroupKey, lanes: readonly Lane[]): void {
    for (let at = 0; at < lanes.length; at += MAX_LANES_A_STATEMENT) {
      const some = lanes.slice(at, at + MAX_LANES_A_STATEMENT);
      this.sql.run(upsert(some.length), key.tenant, key.topic, key.group, ...some.flatMap(columns));
    }
  }

  remove(key: GroupKey, partitionKey: string): void {
    this.sql.run(
      "DELETE FROM queue_partition_leases WHERE tenant = ? AND topic = ? AND group_name = ? AND partition_key = ?",
      key.tenant,
      key.topic,
      key.group,
      partitionKey,
    );
  }

  removeGroup(key: GroupKey): void {
    this.sql.run(
      "DELETE FROM queue_partition_leases WHERE tenant = ? AND topic = ? AND group_name = ?",
      key.tenant,
      key.topic,
      key.group,
    );
  }
}

function offsetsOf(text: string): number[] {
  return decodeOffsets(text).flatMap(({ first, last }) =>
    Array.from({ length: last - first + 1 }, (_, place) => first + place),
  );
}

/** Offsets as deltas: a run of a hundred messages stays under two kilobytes. */
export function encodeRuns(runs: readonly Run[]): string {
  const encoded = runs.map((run): EncodedRun => {
    const messages: number[] = [];
    let before = 0;
    let dueBeforeMs = 0;
    for (const { offset, bodyBytes, dueAtMs } of run.messages) {
      messages.push(offset - before, bodyBytes, dueAtMs - dueBeforeMs);
      before = offset;
      dueBeforeMs = dueAtMs;
    }
    const { nonce, subscriber, epoch, visibleUntilMs, deliveredAtMs } = run;
    const encoded: EncodedRun = [nonce, subscriber, epoch, visibleUntilMs, messages];
    if (deliveredAtMs !== undefined) encoded.push(deliveredAtMs);
    return encoded;
  });
  return JSON.stringify(encoded);
}

export function decodeRuns(text: string): Run[] {
  return (JSON.parse(text) as EncodedRun[]).map((encoded) => {
    const [nonce, subscriber, epoch, visibleUntilMs, flat, deliveredAtMs] = encoded;
    const messages: Run["messages"] = [];
    let offset = 0;
    let dueAtMs = 0;
    for (let at = 0; at + 2 < flat.length; at += 3) {
      offset += flat[at] as number;
      dueAtMs += flat[at + 2] as number;
      messages.push({ offset, bodyBytes: flat[at + 1] as number, dueAtMs });
    }
    const run = { nonce, subscriber, epoch, visibleUntilMs, messages };
    return deliveredAtMs === undefined ? run : { ...run, deliveredAtMs };
  });
}
