import type { Meter } from "../metered/worker.ts";
import { TENANT } from "../server.ts";
import { Connection, requestHead } from "./connection.ts";

/** Reads the counters of the metered Worker's tenant object. */
export class MeterReader {
  private readonly connection: Connection;
  private readonly head: string;

  static async open(url: string): Promise<MeterReader> {
    return new MeterReader(url, await Connection.open(url));
  }

  private constructor(url: string, connection: Connection) {
    this.connection = connection;
    this.head = requestHead("POST", url, `/meter/${TENANT}`, null);
  }

  /** Since the last call. */
  async take(): Promise<Meter> {
    const { status, body } = await this.connection.request(this.head, "");
    if (status !== 200) throw new Error(`meter: ${status}`);
    return JSON.parse(body.toString()) as Meter;
  }

  close(): void {
    this.connection.close();
  }
}

export function addMeters(a: Meter, b: Meter): Meter {
  return {
    rowsRead: a.rowsRead + b.rowsRead,
    rowsWritten: a.rowsWritten + b.rowsWritten,
    alarmsSet: a.alarmsSet + b.alarmsSet,
    notifies: a.notifies + b.notifies,
  };
}

export const NO_ROWS: Meter = { rowsRead: 0, rowsWritten: 0, alarmsSet: 0, notifies: 0 };
