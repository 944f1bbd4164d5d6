import { DatabaseSync } from "node:sqlite";
import { describe, expect, test } from "vitest";
import { type Fill, messagesSql, offsetSql, settledSql } from "../../../bench/vitess/fill.ts";
import { offsetAtMs } from "../../../src/core/offset-clock.ts";

const NOW_MS = Date.UTC(2026, 5, 1);

function setup(changes: Partial<Fill> = {}): Fill {
  return {
    topic: "growth",
    first: 0,
    count: 120_000,
    partitions: 64,
    prefix: "p",
    ageMs: 600_000,
    ...changes,
  };
}

function offsetAt(fill: Fill, seq: number): number {
  const row = new DatabaseSync(":memory:").prepare(
    `SELECT ${offsetSql(fill, NOW_MS)} FROM (SELECT ? AS seq)`,
  );
  return Number(Object.values(row.get(seq) as object)[0]);
}

describe("rows that the benchmark puts into the tables", () => {
  test("end so long ago, a thousand a second before that", () => {
    const fill = setup();
    expect(offsetAt(fill, fill.count - 1)).toBe(offsetAtMs(NOW_MS - fill.ageMs));
    expect(offsetAt(fill, 0)).toBe(offsetAtMs(NOW_MS - fill.ageMs - (fill.count - 1)));
  });

  test.each([
    ["messages", (fill: Fill) => messagesSql(fill, NOW_MS)],
    ["checkpoints", (fill: Fill) => settledSql(fill, "workers", "7", NOW_MS)],
  ])("%s come in statements that each have a bounded part, and all together once", (_what, sqlOf) => {
    const ranges = sqlOf(setup()).map((sql) => /FROM (seq_\w+)$/.exec(sql)?.[1]);
    expect(ranges).toEqual(["seq_0_to_49999", "seq_50000_to_99999", "seq_100000_to_119999"]);
    expect(sqlOf(setup({ count: 1 }))[0]).toMatch(/FROM seq_0_to_0$/);
  });
});
