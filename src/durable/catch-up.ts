import { MAX_SCAN_ENTRIES } from "../log/message-log.ts";
import type { GroupRef } from "../protocol/tenant-calls.ts";
import type { Tenant } from "./tenant.ts";

/** Twenty thousand entries: a second or so. */
const MAX_READS = 20;

/**
 * After the loss of the object a group reads the log again, and only as far as receives ask. Who counts or collects
 * what is settled has to know it: then the group reads on to where it was, within a bound. Says how many entries that
 * may have been.
 */
export async function catchUp(tenant: Tenant, ref: GroupRef): Promise<{ entriesRead: number }> {
  if (tenant.embedded) return { entriesRead: 0 };
  let read = 0;
  for (; read < MAX_READS; read += 1) {
    const group = await tenant.group(ref.topic, ref.group);
    if (!group || group.progress.scanOffset >= group.progress.recoverThrough) break;
    // What it had read last may be gone from the log.
    if (read > 0 && group.atTail) break;
    await tenant.reader(ref).read({ lanes: [], tailEntries: MAX_SCAN_ENTRIES });
  }
  return { entriesRead: read * MAX_SCAN_ENTRIES };
}
