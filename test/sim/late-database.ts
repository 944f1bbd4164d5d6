import { LateSettings } from "./late-settings.ts";
import { DatabaseClock, type DatabaseWorld, LateTable } from "./late-table.ts";

export interface LateDatabaseOptions {
  /** An insert that is open longer is rolled back. Milliseconds; shorter than the commit horizon. */
  killAfterMs: number;
  /** The reply of an insert tells the offsets it gave. */
  tellsOffsets: boolean;
}

/** What outlives every object: the rows of all tenants. */
export class LateDatabase {
  readonly world: DatabaseWorld;
  readonly clock: DatabaseClock;
  readonly tellsOffsets: boolean;
  private readonly killAfterMs: number;
  private readonly tables = new Map<string, Map<string, LateTable>>();
  private readonly settingsOf = new Map<string, LateSettings>();

  constructor(world: DatabaseWorld, options: LateDatabaseOptions) {
    this.world = world;
    this.clock = new DatabaseClock(world);
    this.killAfterMs = options.killAfterMs;
    this.tellsOffsets = options.tellsOffsets;
  }

  settings(tenant: string): LateSettings {
    const known = this.settingsOf.get(tenant) ?? new LateSettings();
    this.settingsOf.set(tenant, known);
    return known;
  }

  /** The messages of a tenant, by topic. */
  tablesOf(tenant: string): ReadonlyMap<string, LateTable> {
    return this.tables.get(tenant) ?? new Map();
  }

  table(tenant: string, topic: string): LateTable {
    const own = this.tables.get(tenant) ?? new Map<string, LateTable>();
    this.tables.set(tenant, own);
    const known = own.get(topic) ?? new LateTable(this.world, this.clock, this.killAfterMs);
    own.set(topic, known);
    return known;
  }
}
