import type { Sql } from "../ports.ts";
import { DeliveryStateTable } from "./delivery-state.ts";
import type { GroupKey } from "./group-key.ts";
import { GroupProgressTable } from "./group-progress.ts";
import { KnownOffsetsTable } from "./known-offsets.ts";
import { PartitionLeasesTable } from "./partition-leases.ts";
import { RoutesTable } from "./routes.ts";
import { SubscriberHeartbeatsTable } from "./subscriber-heartbeats.ts";

/** The object's own tables. The log's tables belong to the log. */
export class Tables {
  readonly deliveryState: DeliveryStateTable;
  readonly lanes: PartitionLeasesTable;
  readonly heartbeats: SubscriberHeartbeatsTable;
  readonly groupProgress: GroupProgressTable;
  readonly knownOffsets: KnownOffsetsTable;
  readonly routes: RoutesTable;

  constructor(sql: Sql) {
    this.deliveryState = new DeliveryStateTable(sql);
    this.lanes = new PartitionLeasesTable(sql);
    this.heartbeats = new SubscriberHeartbeatsTable(sql);
    this.groupProgress = new GroupProgressTable(sql);
    this.knownOffsets = new KnownOffsetsTable(sql);
    this.routes = new RoutesTable(sql);
  }

  /** Progress goes last: while it stands, a repeat after a crash knows that there is more to remove. */
  removeGroup(key: GroupKey): void {
    this.deliveryState.removeGroup(key);
    this.lanes.removeGroup(key);
    this.heartbeats.removeGroup(key);
    this.routes.removeGroup(key);
    this.knownOffsets.removeGroup(key);
    this.groupProgress.removeGroup(key);
  }
}
