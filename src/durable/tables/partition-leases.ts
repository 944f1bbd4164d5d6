import { intervalsOf } from "../../core/checkpoint.ts";
import { decodeOffsets, encodeOffsets } from "../../core/known-offsets.ts";
import { APPLICATION, Lane, type Run } from "../../core/lane.ts";
import type { PendingRange } from "../../core/pending.ts";
import type { Sql, SqlRow } from "../ports.ts";
import type { GroupKey } from "./group-key.ts";

type EncodedRun = [
  nonce: string,
  subscriber: string,
  epoch: number,
  visibleUntilMs: number,
  messages: number[],
  /** Rows from before there was this element, and those that do not know it, end here. */
  deliveredAtMs?: number,
  /** Absent where no route was asked. */
  sortedBy?: number,
];

/** Beside the three of the group, of the hundred parameters that a statement may have. */
const MAX_LANES_A_STATEMENT = 9;
const KEY_COLUMNS = ["tenant", "topic", "group_name"];
const STATE_COLUMNS = [
  "subscriber",
  "epoch",
  "acquired_at_ms",
  "walked_offset",
  "has_more",
  "runs",
  "settled_offsets",
  "pending_ranges",
];

/** The same columns, but that a lane of a route has its ID. */
interface LanesTable {
  name: string;
  laneColumns: readonly string[];
}

const APPLICATIONS: LanesTable = {
  name: "queue_partition_leases",
  laneColumns: ["partition_key"],
};
const ROUTES: LanesTable = {
  name: "queue_route_leases",
  laneColumns: ["partition_key", "route_id"],
};

const upserts = new Map<string, string>();

function upsert({ name, laneColumns }: LanesTable, lanes: number): string {
  const known = upserts.get(`${name} ${lanes}`);
  if (known !== undefined) return known;
  const columns = [...laneColumns, ...STATE_COLUMNS];
  const row = `(${columns.map(() => "?").join(", ")})`;
  const values = Array.from({ length: lanes }, () => row).join(", ");
  const selected = columns.map((_, at) => `column${at + 1}`).join(", ");
  const updates = STATE_COLUMNS.map((column) => `${column} = excluded.${column}`).join(", ");
  // SQLite wants a WHERE between a SELECT and ON CONFLICT.
  const text = `INSERT INTO ${name} (${[...KEY_COLUMNS, ...columns].join(", ")})
    SELECT ?1, ?2, ?3, ${selected} FROM (VALUES ${values})
    WHERE TRUE
    ON CONFLICT (${[...KEY_COLUMNS, ...laneColumns].join(", ")}) DO UPDATE SET ${updates}`;
  upserts.set(`${name} ${lanes}`, text);
  return text;
}

function stateOf(lane: Lane): (string | number)[] {
  const { lease, walkedOffset, hasUnwalked, runs, unsaved } = lane;
  return [
    lease?.subscriber ?? "",
    lease?.epoch ?? 0,
    lease?.acquiredAtMs ?? 0,
    walkedOffset,
    hasUnwalked ? 1 : 0,
    encodeRuns(runs),
    unsaved ? encodeOffsets(intervalsOf(unsaved.toSorted((a, b) => a - b))) : "",
    encodePending(lane.pending),
  ];
}

function valuesOf(lane: Lane): (string | number)[] {
  if (lane.routeId !== APPLICATION) return [lane.partitionKey, lane.routeId, ...stateOf(lane)];
  return [lane.partitionKey, ...stateOf(lane)];
}

/** Lanes of a group that are leased or have something unsettled. */
export class PartitionLeasesTable {
  private readonly sql: Sql;

  constructor(sql: Sql) {
    this.sql = sql;
  }

  /** `tracksSettled`: the log is outside the object, and lanes note what they settle for the next checkpoint. */
  load(key: GroupKey, tracksSettled: boolean): Lane[] {
    return [APPLICATIONS, ROUTES].flatMap(({ name, laneColumns }) => {
      const rows = this.sql.all(
        `SELECT ${[...laneColumns, ...STATE_COLUMNS].join(", ")}
         FROM ${name} WHERE tenant = ? AND topic = ? AND group_name = ?`,
        key.tenant,
        key.topic,
        key.group,
      );
      return rows.map((row) => laneOf(row, tracksSettled));
    });
  }

  /** Many lanes in few statements: each costs the platform more than the row that it writes. */
  save(key: GroupKey, lanes: readonly Lane[]): void {
    this.saveIn(
      APPLICATIONS,
      key,
      lanes.filter(({ routeId }) => routeId === APPLICATION),
    );
    this.saveIn(
      ROUTES,
      key,
      lanes.filter(({ routeId }) => routeId !== APPLICATION),
    );
  }

  private saveIn(table: LanesTable, key: GroupKey, lanes: readonly Lane[]): void {
    for (let at = 0; at < lanes.length; at += MAX_LANES_A_STATEMENT) {
      const some = lanes.slice(at, at + MAX_LANES_A_STATEMENT);
      this.sql.run(upsert(table, some.length), key.tenant, key.topic, key.group, ...some.flatMap(valuesOf));
    }
  }

  remove(key: GroupKey, { partitionKey, routeId }: Lane): void {
    if (routeId === APPLICATION) {
      this.sql.run(
        "DELETE FROM queue_partition_leases WHERE tenant = ? AND topic = ? AND group_name = ? AND partition_key = ?",
        key.tenant,
        key.topic,
        key.group,
        partitionKey,
      );
      return;
    }
    this.sql.run(
      `DELETE FROM queue_route_leases
       WHERE tenant = ? AND topic = ? AND group_name = ? AND route_id = ? AND partition_key = ?`,
      key.tenant,
      key.topic,
      key.group,
      routeId,
      partitionKey,
    );
  }

  removeGroup(key: GroupKey): void {
    for (const { name } of [APPLICATIONS, ROUTES]) {
      this.sql.run(
        `DELETE FROM ${name} WHERE tenant = ? AND topic = ? AND group_name = ?`,
        key.tenant,
        key.topic,
        key.group,
      );
    }
  }
}

function laneOf(row: SqlRow, tracksSettled: boolean): Lane {
  const lane = new Lane(
    String(row.partition_key),
    Number(row.walked_offset),
    Number(row.route_id ?? APPLICATION),
  );
  lane.behind = Number(row.has_more) === 1;
  lane.runs = decodeRuns(String(row.runs));
  lane.pending = decodePending(String(row.pending_ranges));
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
}

function encodePending(ranges: readonly PendingRange[]): string {
  return ranges.length === 0 ? "" : JSON.stringify(ranges);
}

function decodePending(text: string): PendingRange[] {
  return text === "" ? [] : (JSON.parse(text) as PendingRange[]);
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
    const { nonce, subscriber, epoch, visibleUntilMs, deliveredAtMs, sortedBy = 0 } = run;
    const encoded: EncodedRun = [nonce, subscriber, epoch, visibleUntilMs, messages];
    if (deliveredAtMs !== undefined) encoded.push(deliveredAtMs);
    if (deliveredAtMs !== undefined && sortedBy > 0) encoded.push(sortedBy);
    return encoded;
  });
  return JSON.stringify(encoded);
}

export function decodeRuns(text: string): Run[] {
  return (JSON.parse(text) as EncodedRun[]).map((encoded) => {
    const [nonce, subscriber, epoch, visibleUntilMs, flat, deliveredAtMs, sortedBy] = encoded;
    const messages: Run["messages"] = [];
    let offset = 0;
    let dueAtMs = 0;
    for (let at = 0; at + 2 < flat.length; at += 3) {
      offset += flat[at] as number;
      dueAtMs += flat[at + 2] as number;
      messages.push({ offset, bodyBytes: flat[at + 1] as number, dueAtMs });
    }
    const run: Run = { nonce, subscriber, epoch, visibleUntilMs, messages };
    if (deliveredAtMs !== undefined) run.deliveredAtMs = deliveredAtMs;
    if (sortedBy !== undefined) run.sortedBy = sortedBy;
    return run;
  });
}
