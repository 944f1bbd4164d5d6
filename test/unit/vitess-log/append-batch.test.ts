import { describe, expect, test } from "vitest";
import type { NewMessage } from "../../../src/log/message-log.ts";
import { LATE_AFTER_MS } from "../../../src/log/vitess/append-batch.ts";
import { VitessLog } from "../../../src/log/vitess/vitess-log.ts";
import { duplicateOf, type Reply, resultOf, scriptedDatabase, tabletError } from "./scripted-database.ts";

const TENANT = "acme";
const TOPIC = "orders";
const HORIZON_MS = 5000;
/** The database's clock, in offsets. */
const CLOCK = 186_000_000_000_000;
const FIRST = CLOCK + 1;
const BY_ID = duplicateOf("queue_messages_by_id");
const BY_PLACE = duplicateOf("PRIMARY");
const DUPLICATE = { duplicate: true };
const STORED = { duplicate: false };

function message(id: string, over: Partial<NewMessage> = {}): NewMessage {
  return { id, partitionKey: "k", body: "{}", contentType: null, headers: "", delayMs: 0, ...over };
}

function stored(insertId = FIRST, tookMs = 1): Reply {
  return { result: { rowsAffected: "1", insertId: String(insertId) }, timing: tookMs / 1000 };
}

function found(...rows: [id: string, offset: number, key?: string][]): Reply {
  const fields = [
    { name: "partition_key", type: "VARBINARY", charset: 63 },
    { name: "message_id", type: "VARBINARY", charset: 63 },
    { name: "message_offset", type: "INT64", charset: 63 },
    { name: "clock", type: "INT64", charset: 63 },
  ];
  return resultOf(
    fields,
    rows.map(([id, offset, key = "k"]) => [key, id, String(offset), String(CLOCK)]),
  );
}

/** Of a topic that is known, so that only what an append itself sends is in the script. */
async function append(replies: Reply[], batch: NewMessage[]) {
  const scripted = scriptedDatabase(replies);
  scripted.database.knownTopics.add(TENANT, TOPIC);
  const log = new VitessLog(TENANT, scripted.database, { commitHorizonMs: HORIZON_MS });
  const outcome = await log.append(TOPIC, batch).catch((error) => error);
  return {
    outcome,
    sent: scripted.requests.map(({ sql }) => sql),
    waits: scripted.waits,
    left: scripted.left,
  };
}

const OLD = CLOCK - HORIZON_MS * 1000 - 1;
const YOUNG = CLOCK - HORIZON_MS * 1000;

test("one statement stores a batch and tells where it lies", async () => {
  const { outcome, sent } = await append([stored()], [message("a"), message("b"), message("c")]);
  expect(outcome).toEqual({
    results: [STORED, STORED, STORED],
    stored: { lowestOffset: FIRST, highestOffset: FIRST + 2 },
    late: false,
  });
  expect(sent).toHaveLength(1);
});

test("a database that does not tell the offset: stored, but not known where", async () => {
  const { outcome } = await append([stored(0)], [message("a")]);
  expect(outcome).toEqual({ results: [STORED], stored: null, late: false });
});

describe("late", () => {
  test.each([
    [LATE_AFTER_MS, false],
    [LATE_AFTER_MS + 1, true],
  ])("a statement of %i ms: %j", async (tookMs, late) => {
    const { outcome } = await append([stored(FIRST, tookMs)], [message("a")]);
    expect(outcome).toMatchObject({ late });
  });

  test.each<[string, Reply]>([
    ["a deadlock", tabletError(1213, "Deadlock", "Aborted")],
    ["a lock wait", tabletError(1205, "Lock wait", "DeadlineExceeded")],
    ["a lost reply", "reset"],
  ])("after %s", async (_what, failure) => {
    const { outcome } = await append([failure, stored()], [message("a")]);
    expect(outcome).toMatchObject({ results: [STORED], late: true });
  });

  test("not after offsets that were taken: the offset is that of the last try", async () => {
    const { outcome, sent, waits } = await append([BY_PLACE, stored()], [message("a")]);
    expect(outcome).toMatchObject({ results: [STORED], late: false });
    expect(sent).toHaveLength(2);
    expect(sent[0]).toBe(sent[1]);
    expect(waits).toHaveLength(1);
  });
});

describe("duplicates", () => {
  test("cost three statements, and only what is new is sent again", async () => {
    const batch = [message("a"), message("b"), message("c")];
    const { outcome, sent } = await append([BY_ID, found(["b", OLD]), stored()], batch);
    expect(outcome).toEqual({
      results: [STORED, DUPLICATE, STORED],
      stored: { lowestOffset: FIRST, highestOffset: FIRST + 1 },
      late: false,
    });
    expect(sent).toHaveLength(3);
    expect(sent[2]).toContain("'a'");
    expect(sent[2]).not.toContain("'b'");
  });

  test("all of them: nothing is sent again", async () => {
    const { outcome, sent } = await append([BY_ID, found(["a", OLD])], [message("a")]);
    expect(outcome).toEqual({ results: [DUPLICATE], stored: null, late: false });
    expect(sent).toHaveLength(2);
  });

  test("that are younger than the horizon are shown to dispatch", async () => {
    const one = await append([BY_ID, found(["a", YOUNG])], [message("a")]);
    expect(one.outcome).toEqual({
      results: [DUPLICATE],
      stored: { lowestOffset: YOUNG, highestOffset: YOUNG },
      late: true,
    });
    const mixed = await append([BY_ID, found(["a", YOUNG]), stored()], [message("a"), message("b")]);
    expect(mixed.outcome).toEqual({
      results: [DUPLICATE, STORED],
      stored: { lowestOffset: YOUNG, highestOffset: FIRST },
      late: true,
    });
    const unknown = await append([BY_ID, found(["a", YOUNG]), stored(0)], [message("a"), message("b")]);
    expect(unknown.outcome).toMatchObject({ stored: null, late: true });
  });

  test("within a batch are known without asking", async () => {
    const batch = [message("a"), message("a", { body: "2" }), message("a", { partitionKey: "other" })];
    const { outcome, sent } = await append([stored()], batch);
    expect(outcome).toMatchObject({ results: [STORED, DUPLICATE, STORED] });
    expect(outcome.stored).toEqual({ lowestOffset: FIRST, highestOffset: FIRST + 1 });
    expect(sent).toHaveLength(1);
  });

  test("are told apart byte for byte, whatever the database takes for equal", async () => {
    const batch = [message("a"), message("e\u0301")];
    const replies = [BY_ID, found(["A", OLD], ["a", OLD, "K"], ["\u00e9", OLD]), stored()];
    expect((await append(replies, batch)).outcome).toMatchObject({ results: [STORED, STORED] });
  });

  test("after a lost reply: what the first try stored is found", async () => {
    const { outcome } = await append(["reset", BY_ID, found(["a", CLOCK])], [message("a")]);
    expect(outcome).toEqual({
      results: [DUPLICATE],
      stored: { lowestOffset: CLOCK, highestOffset: CLOCK },
      late: true,
    });
  });
});

describe("rounds", () => {
  const UNCLEAR = duplicateOf("queue_messages_by_id", "' for key 'PRIMARY' (errno 1062)");

  test("a collision that is not clear is looked up", async () => {
    const asDuplicate = await append([UNCLEAR, found(["a", OLD])], [message("a")]);
    expect(asDuplicate.outcome).toMatchObject({ results: [DUPLICATE] });
    const asPlace = await append([UNCLEAR, found(), stored()], [message("a")]);
    expect(asPlace.outcome).toMatchObject({ results: [STORED] });
  });

  test("a second one in a row is looked up whatever it says", async () => {
    const { outcome } = await append([BY_PLACE, BY_PLACE, found(["a", OLD])], [message("a")]);
    expect(outcome).toMatchObject({ results: [DUPLICATE] });
  });

  test("a further duplicate goes round again", async () => {
    const replies = [BY_ID, found(["a", OLD]), BY_ID, found(["b", OLD]), stored()];
    const { outcome, left } = await append(replies, [message("a"), message("b"), message("c")]);
    expect(outcome).toMatchObject({ results: [DUPLICATE, DUPLICATE, STORED] });
    expect(left).toEqual([]);
  });

  test("end, with a failure that may be tried again", async () => {
    const { outcome, sent } = await append(Array.from({ length: 20 }, () => [BY_ID, found()]).flat(), [
      message("a"),
    ]);
    expect(outcome).toMatchObject({
      failure: { code: "store-unavailable", retryAfterMs: expect.any(Number) },
    });
    expect(sent.length).toBeLessThanOrEqual(12);
  });
});
