import { expect, test } from "vitest";
import { deadLetterTopicOf } from "../../src/core/settings.ts";
import type { MakeLog } from "./message-log-suite.ts";
import {
  ALL,
  checkpoint,
  GROUP,
  group,
  message,
  messages,
  offsetsOf,
  publish,
  reset,
  TOPIC,
} from "./samples.ts";

const EVER = Number.MAX_SAFE_INTEGER;

export function tenantCases(setup: MakeLog): void {
  test("G7: nothing that one tenant stored is seen by another", async () => {
    const { log, otherTenantsLog } = await setup();
    await log.saveGroup(TOPIC, group());
    const [offset = 0] = await publish(log, [message("a", { delayMs: 5 }), message("b")]);
    await log.saveProgress(TOPIC, GROUP, [checkpoint({ resetEpoch: 3 })]);
    await log.saveReset(TOPIC, GROUP, reset({ partitionKey: "empty", resetEpoch: 4 }));
    const copy = { offset, group: GROUP, attempts: 1, failedAtMs: 1, reason: "r", origin: "o" };
    await log.copyToDeadLetters(TOPIC, [copy]);

    const other = otherTenantsLog;
    expect((await other.scanTopic(TOPIC, ALL)).entries).toEqual([]);
    const read = { partitionKey: "k", afterOffset: 0, throughOffset: EVER, maxEntries: 10 };
    expect(await other.scanPartitions(TOPIC, [read])).toEqual([{ entries: [], reachedEnd: true }]);
    const due = { after: { dueAtMs: 0, offset: 0 }, throughDueMs: EVER, maxEntries: 10 };
    expect(await other.scanDue(TOPIC, due)).toEqual({ entries: [], reachedEnd: true, nextDueAtMs: null });
    expect(await other.listPartitions(TOPIC, { afterKey: null, maxPartitions: 10 })).toEqual([]);
    expect(await other.readMessages(TOPIC, [offset])).toEqual([]);
    expect(await other.findEntries(TOPIC, "a", "k")).toEqual([]);
    expect(await other.listMessages(TOPIC, ALL)).toEqual([]);
    expect(await other.listMessages(deadLetterTopicOf(TOPIC), ALL)).toEqual([]);
    expect(await other.countEntries(TOPIC, { afterOffset: 0, maxCount: 10 })).toBe(0);
    expect((await other.tail(TOPIC)).offset).toBe(0);
    expect(await other.loadTopics()).toEqual([]);
    expect(await other.loadTopic(TOPIC)).toBeNull();
    expect(await other.loadGroups(TOPIC)).toEqual([]);
    expect(await other.loadAllGroups()).toEqual([]);
    expect(await other.highestResetEpoch(TOPIC, GROUP, 1)).toBe(0);
    expect(await other.listEmptyPartitions(TOPIC, GROUP, { afterKey: null, maxPartitions: 10 })).toEqual({
      emptyKeys: [],
      resumeAfterKey: null,
    });
    expect(await other.loadProgress(TOPIC, GROUP, ["k"])).toEqual([]);
  });

  test("G7: nothing that one tenant does changes another's rows", async () => {
    const { log, otherTenantsLog } = await setup();
    const dead = deadLetterTopicOf(TOPIC);
    for (const each of [log, otherTenantsLog]) {
      await each.saveTopic(TOPIC, { retentionMs: 1, maxRetentionMs: 1 });
      await each.saveGroup(TOPIC, group());
      await each.saveProgress(TOPIC, GROUP, [checkpoint()]);
      expect((await each.append(TOPIC, messages(3))).results).toEqual(Array(3).fill({ duplicate: false }));
    }
    const offsets = await offsetsOf(log);
    const snapshot = async () => [
      await log.listMessages(TOPIC, ALL),
      await log.listMessages(dead, ALL),
      await log.loadTopics(),
      await log.loadGroups(TOPIC),
      await log.loadProgress(TOPIC, GROUP, ["k"]),
      await log.highestResetEpoch(TOPIC, GROUP, 1),
      await log.listEmptyPartitions(TOPIC, GROUP, { afterKey: null, maxPartitions: 10 }),
      (await log.tail(TOPIC)).offset,
    ];
    const [offset = 0] = offsets;
    await log.copyToDeadLetters(TOPIC, [
      { offset, group: GROUP, attempts: 1, failedAtMs: 1, reason: "r", origin: "o" },
    ]);
    const before = await snapshot();

    const other = otherTenantsLog;
    const [theirs = 0] = await offsetsOf(other);
    await other.copyToDeadLetters(TOPIC, [
      { offset: theirs, group: GROUP, attempts: 1, failedAtMs: 1, reason: "r", origin: "o" },
    ]);
    await other.redrive(TOPIC, await offsetsOf(log, dead));
    await other.redrive(TOPIC, await offsetsOf(other, dead));
    await other.deleteRanges(TOPIC, [{ first: 0, last: EVER }]);
    await other.purge(dead, { throughOffset: EVER, maxEntries: 10 });
    await other.saveTopic(TOPIC, { retentionMs: 9, maxRetentionMs: 9 });
    await other.saveProgress(TOPIC, GROUP, [checkpoint({ ackedOffset: 99 })]);
    await other.saveReset(TOPIC, GROUP, reset({ resetEpoch: 9 }));
    await other.deleteProgress(TOPIC, GROUP, null);
    await other.saveGroup(TOPIC, group({ deletedAtMs: 1 }));
    expect(await snapshot()).toEqual(before);
  });
}
