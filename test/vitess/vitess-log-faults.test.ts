import { afterEach, describe, expect, test } from "vitest";
import { deadLetterTopicOf } from "../../src/core/settings.ts";
import { startGateway } from "../../src/gateway/gateway.ts";
import { Database } from "../../src/log/vitess/database.ts";
import { VitessLog } from "../../src/log/vitess/vitess-log.ts";
import { at, checkpoint, GROUP, group, message, messages, offsetsOf, TOPIC } from "../conformance/samples.ts";
import { type LogAtPlace, vitessPlace } from "./vitess-log-place.ts";

const place = vitessPlace();
const DEAD = deadLetterTopicOf(TOPIC);
const EVER = Number.MAX_SAFE_INTEGER;
const UNAVAILABLE = { failure: { code: "store-unavailable", retryAfterMs: expect.any(Number) } };
const STORED = { duplicate: false };
const DUPLICATE = { duplicate: true };
const INSERT = /^INSERT INTO queue_messages/;

afterEach(() => place.gateway.faults.clear());

/** Of a topic that this process knows already. */
async function opened(options: Parameters<typeof place.log>[0] = {}): Promise<LogAtPlace> {
  const opening = place.log(options);
  await opening.log.append(TOPIC, [message("opening")]);
  return opening;
}

function failing(errno: number, rpcCode: string) {
  const message = `target: db.-.primary: vttablet: rpc error: code = ${rpcCode} desc = words (errno ${errno}) (sqlstate HY000)`;
  return { kind: "errorBefore", error: { code: "UNKNOWN", message } } as const;
}

describe("publishes", () => {
  test("G1: after a lost reply the batch is stored once, and dispatch is told to look", async () => {
    const { log, tenant } = await opened();
    const fault = place.gateway.faults.add({ kind: "errorAfter", tenant, matching: INSERT, times: 1 });
    const outcome = await log.append(TOPIC, messages(3));
    expect(fault.hits).toBe(1);
    const offsets = (await offsetsOf(log)).slice(1);
    expect(offsets).toHaveLength(3);
    expect(outcome).toEqual({
      results: Array(3).fill(DUPLICATE),
      stored: { lowestOffset: at(offsets, 0), highestOffset: at(offsets, 2) },
      late: true,
    });
  });

  test.each([
    ["a deadlock", 1213, "Aborted"],
    ["a lock wait", 1205, "DeadlineExceeded"],
    ["a failover", 1290, "FailedPrecondition"],
  ])("after %s the batch is sent again", async (_what, errno, rpcCode) => {
    const { log, tenant } = await opened();
    place.gateway.faults.add({ ...failing(errno, rpcCode), tenant, matching: INSERT, times: 2 });
    expect(await log.append(TOPIC, messages(3))).toMatchObject({
      results: Array(3).fill(STORED),
      late: true,
    });
  });

  test("batches of the same IDs in opposite orders, which may deadlock, are stored once", async () => {
    const { log, tenant } = await opened();
    const forth = messages(100);
    const outcomes = await Promise.all([
      log.append(TOPIC, forth),
      place.log({ tenant }).log.append(TOPIC, forth.toReversed()),
      place.log({ tenant }).log.append(TOPIC, forth),
    ]);
    const fresh = outcomes.flatMap(({ results }) => results.filter(({ duplicate }) => !duplicate));
    expect(fresh).toHaveLength(100);
  });

  test("a database that is away is said within the tries, and nothing is stored", async () => {
    const { log, tenant } = await opened();
    const fault = place.gateway.faults.add({ kind: "refuse", tenant });
    await expect(log.append(TOPIC, [message("a")])).rejects.toMatchObject(UNAVAILABLE);
    expect(fault.hits).toBe(3);
    fault.remove();
    expect(await offsetsOf(log)).toHaveLength(1);
    expect((await log.append(TOPIC, [message("a")])).results).toEqual([STORED]);
  });

  test("a database that hangs is left at the deadline, and asked once", async () => {
    const { log, tenant } = await opened({ limits: { readMs: 50, writeMs: 50 } });
    const fault = place.gateway.faults.add({ kind: "drop", tenant });
    await expect(log.append(TOPIC, [message("a")])).rejects.toMatchObject(UNAVAILABLE);
    await expect(log.scanTopic(TOPIC, { afterOffset: 0, maxEntries: 1 })).rejects.toMatchObject(UNAVAILABLE);
    expect(fault.hits).toBe(2);
  });

  test("G7: one tenant's faults do not touch another", async () => {
    const [one, other] = [await opened(), await opened()];
    place.gateway.faults.add({ kind: "refuse", tenant: one.tenant });
    await expect(one.log.append(TOPIC, [message("a")])).rejects.toMatchObject(UNAVAILABLE);
    expect((await other.log.append(TOPIC, [message("a")])).results).toEqual([STORED]);
  });

  test("a topic whose making failed is not taken for known", async () => {
    const { log, tenant } = place.log();
    place.gateway.faults.add({
      ...failing(1064, "InvalidArgument"),
      tenant,
      matching: /INTO queue_topics/,
      times: 1,
    });
    await expect(log.append(TOPIC, [message("a")])).rejects.toMatchObject(UNAVAILABLE);
    await log.append(TOPIC, [message("a")]);
    expect(await log.loadTopic(TOPIC)).toMatchObject({ topic: TOPIC });
  });
});

describe("dead letters", () => {
  const copiesOf = (offsets: readonly number[]) =>
    offsets.map((offset) => {
      return { offset, group: GROUP, attempts: 1, failedAtMs: 1, reason: "r", origin: `o${offset}` };
    });

  async function withMessages(count: number) {
    const known = await opened();
    await known.log.saveGroup(TOPIC, group());
    await known.log.append(TOPIC, messages(count));
    return { ...known, offsets: (await offsetsOf(known.log)).slice(1) };
  }

  test("a hundred copies are at most three statements, the topic's row included", async () => {
    const { log, offsets } = await withMessages(100);
    const first = await place.cost(() => log.copyToDeadLetters(TOPIC, copiesOf(offsets)));
    expect(first.value).toEqual({ copied: 100 });
    expect(first.roundTrips).toBeLessThanOrEqual(3);
    const again = await place.cost(() => log.copyToDeadLetters(TOPIC, copiesOf(offsets)));
    expect([again.value, again.roundTrips]).toEqual([{ copied: 0 }, 1]);
  });

  test("G2: a lost reply makes no second copy", async () => {
    const { log, tenant, offsets } = await withMessages(5);
    place.gateway.faults.add({ kind: "errorAfter", tenant, matching: INSERT, times: 1 });
    await log.copyToDeadLetters(TOPIC, copiesOf(offsets));
    expect(await offsetsOf(log, DEAD)).toHaveLength(5);
  });

  test.each([
    ["the insert", INSERT],
    ["the removal", /^DELETE FROM queue_messages/],
  ])("a redrive whose reply to %s is lost puts each back once, and counts them", async (_what, matching) => {
    const { log, tenant, offsets } = await withMessages(5);
    await log.copyToDeadLetters(TOPIC, copiesOf(offsets));
    const fault = place.gateway.faults.add({ kind: "errorAfter", tenant, matching, times: 1 });
    expect(await log.redrive(TOPIC, await offsetsOf(log, DEAD))).toEqual({ redriven: 5 });
    expect(fault.hits).toBe(1);
    expect(await offsetsOf(log, DEAD)).toEqual([]);
    expect(await offsetsOf(log)).toHaveLength(1 + 5 + 5);
  });

  test("a redrive that ends between insert and removal is finished by the next, without a second copy", async () => {
    const { log, tenant, offsets } = await withMessages(5);
    await log.copyToDeadLetters(TOPIC, copiesOf(offsets));
    const dead = await offsetsOf(log, DEAD);
    const fault = place.gateway.faults.add({ kind: "refuse", tenant, matching: /^DELETE/ });
    await expect(log.redrive(TOPIC, dead)).rejects.toMatchObject(UNAVAILABLE);
    fault.remove();
    expect(await log.redrive(TOPIC, dead)).toEqual({ redriven: 5 });
    expect(await offsetsOf(log)).toHaveLength(1 + 5 + 5);
  });
});

describe("deletes and progress", () => {
  test("a purge whose reply is lost is not sent again: it would take further messages", async () => {
    const { log, tenant } = await opened();
    await log.append(TOPIC, messages(10));
    place.gateway.faults.add({ kind: "errorAfter", tenant, matching: /^DELETE/, times: 1 });
    const purge = { throughOffset: EVER, maxEntries: 3 };
    await expect(log.purge(TOPIC, purge)).rejects.toMatchObject(UNAVAILABLE);
    expect(await offsetsOf(log)).toHaveLength(8);
  });

  test("ranges and progress may be sent again", async () => {
    const { log, tenant } = await opened();
    await log.saveGroup(TOPIC, group());
    const offsets = await offsetsOf(log);
    place.gateway.faults.add({ kind: "errorAfter", tenant, matching: /queue_offsets/, times: 1 });
    await log.saveProgress(TOPIC, GROUP, [checkpoint()]);
    expect(await log.loadProgress(TOPIC, GROUP, ["k"])).toHaveLength(1);
    place.gateway.faults.add({ kind: "errorAfter", tenant, matching: /^DELETE/, times: 1 });
    await log.deleteRanges(TOPIC, [{ first: at(offsets, 0), last: at(offsets, 0) }]);
    expect(await offsetsOf(log)).toEqual([]);
  });

  test("a range longer than one statement deletes is deleted whole", async () => {
    const { log, tenant } = await opened();
    await place.runSql(`INSERT INTO queue_messages
      SELECT '${tenant}', '${TOPIC}', seq, 'k', concat('s', seq), '', NULL, 1, 1, NULL, NULL, '', NULL, 2, '{}'
      FROM seq_1_to_12000`);
    expect(await log.deleteRanges(TOPIC, [{ first: 1, last: 11_999 }])).toEqual({ deleted: 11_999 });
    expect(await log.countEntries(TOPIC, { afterOffset: 0, maxCount: 10 })).toBe(2);
  });

  test("the progress of a group with more partitions than one statement deletes goes whole", async () => {
    const { log, tenant } = await opened();
    await place.runSql(`INSERT INTO queue_offsets
      SELECT '${tenant}', '${TOPIC}', '${GROUP}', concat('k', seq), 1, 7, 1, '', '', 0, 0, 0 FROM seq_1_to_12000`);
    expect(await log.highestResetEpoch(TOPIC, GROUP, 1)).toBe(7);
    await log.deleteProgress(TOPIC, GROUP, null);
    expect(await log.highestResetEpoch(TOPIC, GROUP, 1)).toBe(0);
  });
});

describe("what an operator has to mend", () => {
  test("wrong credentials", async () => {
    const url = place.gateway.url.replace("log-password", "not-the-password");
    const log = new VitessLog("acme", new Database({ url }), { commitHorizonMs: 0 });
    const error = await log.append(TOPIC, [message("a")]).catch((thrown) => thrown);
    expect(error).toMatchObject({
      failure: { code: "store-unavailable", detail: expect.stringMatching(/credentials/) },
    });
    expect(String(error) + String(error.cause)).not.toContain("not-the-password");
  });

  test("a database without the schema", async () => {
    const dsn = await place.mariaDb.createDatabase("empty");
    const gateway = await startGateway({ dsn, user: "u", password: "p" });
    try {
      const log = new VitessLog("acme", new Database({ url: gateway.url }), { commitHorizonMs: 0 });
      await expect(log.append(TOPIC, [message("a")])).rejects.toMatchObject({
        failure: { code: "store-unavailable", detail: expect.stringMatching(/schema/) },
      });
    } finally {
      await gateway.close();
    }
  });
});
