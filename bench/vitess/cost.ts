import { MeterReader } from "../load/meter.ts";
import { DatabaseMeter, type DatabaseRows } from "./handler-counters.ts";
import type { ServedPlace } from "./place.ts";

/** What some work cost. */
export interface Cost {
  /** That the gateway ran. */
  statements: number;
  /** Execute requests to the gateway. */
  roundTrips: number;
  /** In the database. */
  rowsRead: number;
  rowsWritten: number;
  /** In the tenant object. */
  objectRead: number;
  objectWritten: number;
  /** Hints that reached the tenant object. */
  notifies: number;
}

export const NO_COST: Cost = {
  statements: 0,
  roundTrips: 0,
  rowsRead: 0,
  rowsWritten: 0,
  objectRead: 0,
  objectWritten: 0,
  notifies: 0,
};

export function addCosts(a: Cost, b: Cost): Cost {
  const sum = { ...NO_COST };
  for (const name of Object.keys(NO_COST) as (keyof Cost)[]) sum[name] = a[name] + b[name];
  return sum;
}

export function costEach(cost: Cost, count: number): Cost {
  const each = { ...NO_COST };
  for (const name of Object.keys(NO_COST) as (keyof Cost)[]) each[name] = cost[name] / count;
  return each;
}

/** Of a served place whose Worker is metered. */
export class CostMeter {
  private readonly place: ServedPlace;
  private readonly object: MeterReader;
  private readonly database: DatabaseMeter;
  private sent: { statements: number; roundTrips: number };

  /** Nothing else may be under way. */
  static async open(place: ServedPlace): Promise<CostMeter> {
    const object = await MeterReader.open(place.url);
    try {
      await object.take();
      const database = await DatabaseMeter.open(place.mariaDb);
      return new CostMeter(place, object, database, await place.gateway.stats());
    } catch (error) {
      object.close();
      throw error;
    }
  }

  private constructor(
    place: ServedPlace,
    object: MeterReader,
    database: DatabaseMeter,
    sent: { statements: number; roundTrips: number },
  ) {
    this.place = place;
    this.object = object;
    this.database = database;
    this.sent = sent;
  }

  /** Since the last call; asking costs nothing that is counted. */
  async take(): Promise<Cost> {
    const { rowsRead, rowsWritten, notifies } = await this.object.take();
    const { statements, roundTrips } = await this.place.gateway.stats();
    const rows: DatabaseRows = await this.database.take();
    const { sent } = this;
    this.sent = { statements, roundTrips };
    return {
      statements: statements - sent.statements,
      roundTrips: roundTrips - sent.roundTrips,
      rowsRead: rows.read,
      rowsWritten: rows.written,
      objectRead: rowsRead,
      objectWritten: rowsWritten,
      notifies,
    };
  }

  close(): void {
    this.object.close();
  }
}

export async function withCostMeter<T>(
  place: ServedPlace,
  use: (meter: CostMeter) => Promise<T>,
): Promise<T> {
  const meter = await CostMeter.open(place);
  try {
    return await use(meter);
  } finally {
    meter.close();
  }
}
