import { describe, expect, test } from "vitest";
import { type Figures, isMet, jsonOf, linesOf, tableOf } from "../../../bench/figures.ts";

function setup(): Required<Figures> {
  return {
    publish: {
      publish: { batch1: 600, batch10: 599, batch100: 12_345.678 },
      floor: { batch1: 1000, batch10: 1000, batch100: 20_000 },
    },
    endToEnd: { rate: 10_000, minBacklog: 10, maxBacklog: 20, redelivered: 0 },
    latency: { p50: 2, p99: 30.01, max: 40, samples: 100, maxLateMs: 1 },
    rows: {
      read: 6,
      written: 6.5,
      writtenPerFurtherGroup: 2.5,
      readPerFurtherGroup: 3,
      alarmsSet: 0.1,
      steps: {
        publish: { read: 0, written: 3 },
        deliver: { read: 5, written: 1 },
        collect: { read: 1, written: 2 },
      },
    },
    growth: { backlog: 1, partitions: 1.5, retained: 1.6 },
    neighbour: { ratio: 1.2, aloneP50: 1, aloneP99: 2, besideP50: 1.1, besideP99: 2.4, busyRate: 5000 },
    split: {
      ratio: 0.69,
      plainRate: 1000,
      splitRate: 690,
      startMs: 4,
      slowestStartMs: 9,
      endMs: 50.1,
      slowestEndMs: 60,
    },
  };
}

describe("the figures", () => {
  test("are nested JSON by name", () => {
    expect(jsonOf(setup())).toEqual({
      publish: { batch1: 600, batch10: 599, batch100: 12_350 },
      floor: { batch1: 1000, batch10: 1000, batch100: 20_000 },
      endToEnd: 10_000,
      latency: { p50: 2, p99: 30.01 },
      rows: { read: 6, written: 6.5, writtenPerFurtherGroup: 2.5 },
      growth: { backlog: 1, partitions: 1.5, retained: 1.6 },
      neighbour: { ratio: 1.2 },
      split: { ratio: 0.69, start: 4, end: 50.1 },
    });
  });

  test("leave out what was not measured", () => {
    expect(jsonOf({ endToEnd: setup().endToEnd })).toEqual({ endToEnd: 10_000 });
    expect(linesOf({})).toEqual([]);
  });

  test("meet a target at its edge, and miss it beyond", () => {
    const met = Object.fromEntries(linesOf(setup()).map((line) => [line.what, isMet(line)]));
    expect(met).toEqual({
      "publish.batch1": true,
      "publish.batch10": false,
      "publish.batch100": true,
      endToEnd: true,
      "latency.p50": null,
      "latency.p99": false,
      "rows.read": true,
      "rows.written": false,
      "rows.writtenPerFurtherGroup": true,
      "growth.backlog": true,
      "growth.partitions": true,
      "growth.retained": false,
      "neighbour.ratio": true,
      "split.ratio": false,
      "split.start": true,
      "split.end": false,
    });
  });

  test("stand in a table beside their targets", () => {
    const [head, ...lines] = tableOf(linesOf(setup())).split("\n");
    expect(head).toMatch(/^figure +measured +target +beside it$/);
    expect(lines).toHaveLength(16);
    expect(lines[0]).toMatch(/^publish\.batch1 +600 msg\/s +at least 600 +met +0\.6 of floor\.batch1 1000$/);
    expect(lines[5]).toMatch(/^latency\.p99 +30\.01 ms +at most 30 +MISSED +max 40 ms/);
  });
});
