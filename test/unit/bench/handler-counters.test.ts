import { describe, expect, test } from "vitest";
import { leastDifference, rowsOf } from "../../../bench/vitess/handler-counters.ts";

function setup(): Record<string, number> {
  return {
    Handler_commit: 1,
    Handler_delete: 20,
    Handler_read_first: 300,
    Handler_read_key: 4000,
    Handler_read_next: 50_000,
    Handler_read_rnd_next: 600_000,
    Handler_tmp_delete: 7,
    Handler_tmp_update: 7,
    Handler_tmp_write: 7,
    Handler_update: 100,
    Handler_write: 3000,
  };
}

describe("the database's counters", () => {
  test("are rows read in any way, and rows of tables written", () => {
    expect(rowsOf(setup())).toEqual({ read: 654_300, written: 3120 });
  });

  test.each(["Handler_write", "Handler_update", "Handler_delete", "Handler_read_key"])(
    "are none without %s",
    (name) => {
      const { [name]: _left, ...rest } = setup();
      expect(() => rowsOf(rest)).toThrow(/no Handler counters/);
    },
  );

  test("are none where the server answers nothing, or only what it wrote", () => {
    expect(() => rowsOf({})).toThrow(/no Handler counters/);
    expect(() => rowsOf({ Handler_write: 1, Handler_update: 1, Handler_delete: 1 })).toThrow(/no Handler/);
  });

  test.each([Number.NaN, -1, 0.5, 2 ** 53])("are whole numbers, not %s", (count) => {
    expect(() => rowsOf({ ...setup(), Handler_read_key: count })).toThrow(/Handler_read_key/);
  });

  test("cost what the cheapest of some readings added", () => {
    const readings = [
      { read: 100, written: 5 },
      { read: 190, written: 5 },
      { read: 215, written: 9 },
      { read: 240, written: 9 },
    ];
    expect(leastDifference(readings)).toEqual({ read: 25, written: 0 });
    expect(() => leastDifference(readings.slice(0, 1))).toThrow(RangeError);
  });
});
