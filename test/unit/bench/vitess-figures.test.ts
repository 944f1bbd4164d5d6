import { describe, expect, test } from "vitest";
import { isMet } from "../../../bench/figures.ts";
import { addCosts, type Cost, costEach, NO_COST } from "../../../bench/vitess/cost.ts";
import { type VitessFigures, vitessJson, vitessLines } from "../../../bench/vitess/figures.ts";
import { FULL, QUICK, USUAL } from "../../../bench/vitess/sizes.ts";

const TOTAL: Cost = {
  statements: 0.1,
  roundTrips: 0.11,
  rowsRead: 5,
  rowsWritten: 2.51,
  objectRead: 9,
  objectWritten: 1.5,
  notifies: 0,
};
const RECEIVE = { rowsRead: 20, statements: 2, meanRowsRead: 25.5, meanStatements: 2.25 };

function setup(): Required<VitessFigures> {
  const steps = { publish: NO_COST, deliver: TOTAL, wait: NO_COST, collect: NO_COST };
  return {
    life: { total: TOTAL, steps },
    singles: { total: { ...TOTAL, statements: 3.2, roundTrips: 3.3 }, steps, ratePerSecond: 100 },
    publish: { batch1: 1, batch10: 10, batch100: 100 },
    endToEnd: { rate: 5000, minBacklog: 10, maxBacklog: 20, redelivered: 0, statements: 0.04 },
    latency: { p50: 2, p99: 50.1, max: 60, samples: 100, maxLateMs: 1 },
    notify: {
      perSecond: 100,
      ratio: 1.6,
      aloneP50: 1,
      aloneP99: 2,
      besideP50: 1,
      besideP99: 3.2,
      publishedPerSecond: 1900,
      askedPerSecond: 2000,
    },
    growth: {
      backlog: 1,
      partitions: 1.5,
      retained: 1.6,
      cases: {
        smallBacklog: RECEIVE,
        largeBacklog: RECEIVE,
        fewPartitions: RECEIVE,
        manyPartitions: RECEIVE,
        fewRetained: RECEIVE,
        manyRetained: RECEIVE,
      },
    },
  };
}

describe("the figures of the log in a database", () => {
  test("are nested JSON by name, with sizes and failures beside them", () => {
    const json = JSON.parse(JSON.stringify(vitessJson(setup(), FULL, ["notify"])));
    expect(json).toMatchObject({
      statements: 0.1,
      roundTrips: 0.11,
      rows: { read: 5, written: 2.51, object: 1.5 },
      statementsSingles: 3.2,
      roundTripsSingles: 3.3,
      publish: { batch1: 1, batch10: 10, batch100: 100 },
      endToEnd: 5000,
      latency: { p50: 2, p99: 50.1 },
      notify: { perSecond: 100, ratio: 1.6, publishedPerSecond: 1900 },
      growth: { backlog: 1, partitions: 1.5, retained: 1.6 },
      receives: { manyRetained: RECEIVE },
      failed: ["notify"],
    });
    expect(json.sizes.growth).toMatchObject({
      smallBacklog: 1000,
      largeBacklog: 1_000_000,
      fewPartitions: 10,
      manyPartitions: 10_000,
      manyRetained: 1_000_000,
    });
    expect(json.sizes.life.horizonMs).toBeGreaterThanOrEqual(1000);
  });

  test("leave out what was not measured", () => {
    const json = vitessJson({ endToEnd: setup().endToEnd }, QUICK, []);
    expect(Object.keys(json).sort()).toEqual(["endToEnd", "failed", "sizes"]);
    expect(vitessLines({})).toEqual([]);
  });

  test("meet a target at its edge, and miss it beyond", () => {
    const met = Object.fromEntries(vitessLines(setup()).map((line) => [line.what, isMet(line)]));
    expect(met).toEqual({
      statements: true,
      roundTrips: false,
      "rows.read": true,
      "rows.written": false,
      "rows.object": true,
      "rows.objectRead": null,
      statementsSingles: true,
      roundTripsSingles: false,
      "publish.batch1": null,
      "publish.batch10": null,
      "publish.batch100": null,
      endToEnd: true,
      "latency.p50": null,
      "latency.p99": false,
      "notify.perSecond": true,
      "notify.ratio": false,
      "notify.publishedPerSecond": true,
      "growth.backlog": true,
      "growth.partitions": true,
      "growth.retained": false,
    });
  });

  test("are measured at the same rates, whatever the size of the run", () => {
    for (const sizes of [QUICK, FULL]) {
      expect(sizes.singles.ratePerSecond).toBe(USUAL.singles.ratePerSecond);
      expect(sizes.latency.ratePerSecond).toBe(USUAL.latency.ratePerSecond);
      expect(sizes.notify.ratePerSecond).toBe(USUAL.notify.ratePerSecond);
    }
  });
});

describe("a cost", () => {
  test("is added and shared out by each of its parts", () => {
    const sum = addCosts(TOTAL, { ...NO_COST, statements: 1.9, notifies: 4 });
    expect(sum).toEqual({ ...TOTAL, statements: 2, notifies: 4 });
    expect(costEach(sum, 2)).toMatchObject({ statements: 1, rowsRead: 2.5, notifies: 2 });
  });
});
