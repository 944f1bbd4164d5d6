import { describe, expect, test } from "vitest";
import * as dispatch from "../../src/core/dispatch-limits.ts";
import * as limits from "../../src/core/limits.ts";
import { DEFAULT_GROUP_SETTINGS } from "../../src/core/settings.ts";
import { MAX_SCAN_ENTRIES } from "../../src/log/message-log.ts";

/** A million and four bytes a code point, the most that UTF-8 needs. */
const UTF8_BYTES = 4;
const INNODB_INDEX_BYTES = 3072;
const SQLITE_ROW_BYTES = 2_000_000;
const MYSQL_PACKET_BYTES = 16 * 1024 * 1024;
const PLATFORM_OBJECT_BYTES = 10 * 1000 ** 3;

const all = Object.entries({ ...limits, ...dispatch });

describe("limits", () => {
  test("are positive whole numbers with their unit last", () => {
    for (const [name, value] of all) {
      if (name === "DEAD_LETTER_SUFFIX") continue;
      expect(Number.isSafeInteger(value) && (value as number) > 0, name).toBe(true);
      expect(
        /_MS$/.test(name) || !/(DURATION|TIMEOUT|DELAY|RETENTION|BACKOFF|PAUSE|GRACE)$/.test(name),
        name,
      ).toBe(true);
    }
  });

  test("a least value is not above its greatest", () => {
    const pairs = [
      [limits.MIN_VISIBILITY_TIMEOUT_MS, limits.MAX_VISIBILITY_TIMEOUT_MS],
      [limits.MIN_LEASE_DURATION_MS, limits.MAX_DURATION_MS],
      [limits.MIN_RETENTION_MS, limits.MAX_DURATION_MS],
      [dispatch.MIN_LOG_BACKOFF_MS, dispatch.MAX_LOG_BACKOFF_MS],
      [dispatch.MIN_TAIL_ENTRIES, MAX_SCAN_ENTRIES],
    ] as const;
    for (const [least, most] of pairs) expect(least).toBeLessThanOrEqual(most);
  });
});

describe("sizes", () => {
  test("a body fits a SQLite row with what stands beside it", () => {
    const beside =
      2 * limits.MAX_KEY_CODE_POINTS * UTF8_BYTES +
      limits.MAX_HEADERS_BYTES +
      limits.MAX_REASON_CHARS * UTF8_BYTES;
    expect(limits.MAX_BODY_BYTES + beside).toBeLessThan(SQLITE_ROW_BYTES);
  });

  test("a batch in hexadecimal fits a MySQL packet, and one body fits a batch", () => {
    const columns =
      limits.MAX_BATCH_MESSAGES * (2 * limits.MAX_KEY_CODE_POINTS * UTF8_BYTES + limits.MAX_HEADERS_BYTES);
    expect(2 * limits.MAX_BATCH_BODY_BYTES + columns).toBeLessThan(MYSQL_PACKET_BYTES);
    expect(limits.MAX_BODY_BYTES).toBeLessThanOrEqual(limits.MAX_BATCH_BODY_BYTES);
  });

  test("a whole batch in base64 fits a request, and the largest body a reply", () => {
    expect(Math.ceil((limits.MAX_BATCH_BODY_BYTES * 4) / 3)).toBeLessThan(limits.MAX_REQUEST_BYTES);
    expect(Math.ceil((limits.MAX_BODY_BYTES * 4) / 3)).toBeLessThan(limits.MAX_REPLY_BYTES);
  });

  test("the dedup key fits an InnoDB index", () => {
    const names = limits.MAX_TENANT_CHARS + limits.MAX_TOPIC_CHARS + limits.DEAD_LETTER_SUFFIX.length;
    const keys = 2 * limits.MAX_KEY_CODE_POINTS * UTF8_BYTES;
    expect(names + keys).toBeLessThan(INNODB_INDEX_BYTES);
  });

  test("the embedded log stops before the platform does, with room for one more full batch", () => {
    expect(limits.MAX_EMBEDDED_BYTES + limits.MAX_BATCH_BODY_BYTES).toBeLessThan(PLATFORM_OBJECT_BYTES);
  });
});

describe("durations", () => {
  test("the sum of any two with an instant is an exact integer", () => {
    const farFuture = Date.UTC(2300, 0);
    expect(Number.isSafeInteger(farFuture + 2 * limits.MAX_DURATION_MS)).toBe(true);
    expect(limits.MAX_DELAY_MS).toBeLessThanOrEqual(limits.MAX_DURATION_MS);
    expect(limits.MAX_VISIBILITY_TIMEOUT_MS).toBeLessThanOrEqual(limits.MAX_DURATION_MS);
  });

  test("a receive waits shorter than a lease of the defaults, so that waiting loses no lane", () => {
    expect(limits.MAX_WAIT_MS).toBeLessThan(DEFAULT_GROUP_SETTINGS.leaseDurationMs);
  });

  test("a subscriber between two receives counts as asking for less than the shortest lease twice over", () => {
    expect(limits.ASKING_GRACE_MS).toBeLessThanOrEqual(2 * limits.MIN_LEASE_DURATION_MS);
  });

  test("a dead letter outlives the longest delay", () => {
    expect(limits.DEAD_LETTER_RETENTION_MS).toBeGreaterThan(limits.MAX_DELAY_MS);
  });
});

describe("dispatch", () => {
  test("a lane's window holds a full receive, and a page of it can be read at once", () => {
    expect(dispatch.MAX_WINDOW_ENTRIES).toBeGreaterThanOrEqual(limits.MAX_RECEIVE_MESSAGES);
    expect(dispatch.MAX_WINDOW_ENTRIES).toBeLessThanOrEqual(MAX_SCAN_ENTRIES);
    expect(dispatch.LOOK_AHEAD_ENTRIES).toBeLessThanOrEqual(MAX_SCAN_ENTRIES);
  });

  test("one lane's failures do not use up the group's, nor one lane's deliveries its own", () => {
    expect(dispatch.MAX_LANE_EXCEPTIONS * 10).toBeLessThanOrEqual(dispatch.MAX_GROUP_EXCEPTIONS);
    expect(limits.MAX_IN_FLIGHT_PER_PARTITION).toBeLessThanOrEqual(dispatch.MAX_LANE_EXCEPTIONS);
  });

  test("every lane that a receive may need can be read in one round, and looking on helps it", () => {
    expect(dispatch.MAX_LANE_READS).toBeGreaterThanOrEqual(limits.MAX_RECEIVE_MESSAGES);
    expect(dispatch.LANES_PER_MESSAGE).toBeGreaterThan(1);
    expect(dispatch.FEW_LANES).toBeLessThan(dispatch.ENOUGH_LANES);
    expect(dispatch.ENOUGH_LANES).toBeLessThan(dispatch.MAX_GROUP_LANES);
    expect(dispatch.LOOK_AHEAD_PAUSE_MS).toBeLessThan(dispatch.SLOW_LOOK_AHEAD_PAUSE_MS);
  });

  test("a settlement's worth of rejects is one batch of dead letters", () => {
    expect(dispatch.MAX_DEAD_LETTER_COPIES).toBeGreaterThanOrEqual(limits.MAX_SETTLEMENTS);
  });

  test("a receive can be settled in one call", () => {
    expect(limits.MAX_SETTLEMENTS).toBeGreaterThanOrEqual(limits.MAX_RECEIVE_MESSAGES);
  });
});
