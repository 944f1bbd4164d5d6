import { FairlaneError } from "../../core/failure.ts";
import type { Sql } from "../../durable/ports.ts";
import type { NewMessage } from "../message-log.ts";
import { storageFull } from "./sqlite-failure.ts";

/** Between two looks at the size, at most this share of the limit is written: 8 MB of 8 GB. */
const LOOKS_PER_LIMIT = 1000;
/** A row and its index entries without body, headers and keys. */
const ROW_BYTES = 400;

/** Refuses publishes while the database is full. Asking for the size is a query, so not each publish does. */
export class StorageGauge {
  private readonly sql: Sql;
  private readonly maxBytes: number;
  private bytesUntilLook = 0;

  constructor(sql: Sql, maxBytes: number) {
    this.sql = sql;
    this.maxBytes = maxBytes;
  }

  /** Throws `rate-limited` when the log is full. */
  admit(messages: readonly NewMessage[]): void {
    if (this.bytesUntilLook <= 0) {
      if (this.sql.sizeBytes() >= this.maxBytes) throw new FairlaneError(storageFull());
      this.bytesUntilLook = this.maxBytes / LOOKS_PER_LIMIT;
    }
    for (const message of messages) {
      this.bytesUntilLook -= ROW_BYTES + message.body.length + message.headers.length;
    }
  }
}
