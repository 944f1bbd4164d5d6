import { expect, test } from "vitest";
import { GROUP_TOMBSTONE_MS, MAX_GROUPS_PER_TOPIC } from "../../src/core/limits.ts";
import { DEFAULT_GROUP_SETTINGS, defaultTopicSettings, type GroupSettings } from "../../src/core/settings.ts";
import type { GroupRecord } from "../../src/log/message-log.ts";
import type { MakeLog } from "./message-log-suite.ts";
import { at, clockOf, GROUP, group, message, offsetsOf, publish, TOPIC } from "./samples.ts";

const UNUSUAL: GroupSettings = {
  visibilityTimeoutMs: 43_200_000,
  leaseDurationMs: 1000,
  maxInFlightPerPartition: 1,
  maxAttempts: 1000,
  retry: { initialBackoffMs: 0, multiplier: 1.25, maxBackoffMs: 315_360_000_000 },
  deadLetters: false,
  startFrom: "latest",
  paused: true,
};

export function settingsCases(setup: MakeLog): void {
  test("topics are saved, replaced and listed in order", async () => {
    const { log, reopen } = await setup();
    expect(await log.loadTopics()).toEqual([]);
    await log.saveTopic("b", { retentionMs: 1000, maxRetentionMs: 2000 });
    await log.saveTopic("a", { retentionMs: 1, maxRetentionMs: 2 });
    await log.saveTopic("a", { retentionMs: 3, maxRetentionMs: 315_360_000_000 });
    expect(await (await reopen()).loadTopics()).toEqual([
      { topic: "a", settings: { retentionMs: 3, maxRetentionMs: 315_360_000_000 } },
      { topic: "b", settings: { retentionMs: 1000, maxRetentionMs: 2000 } },
    ]);
  });

  test("a publish keeps a topic's settings, and new settings keep its messages", async () => {
    const { log, reopen } = await setup();
    await log.saveTopic(TOPIC, { retentionMs: 5, maxRetentionMs: 6 });
    const offsets = await publish(await reopen(), [message("a")]);
    expect((await log.loadTopic(TOPIC))?.settings).toEqual({ retentionMs: 5, maxRetentionMs: 6 });
    await log.saveTopic(TOPIC, { retentionMs: 7, maxRetentionMs: 8 });
    expect(await log.loadTopics()).toEqual([
      { topic: TOPIC, settings: { retentionMs: 7, maxRetentionMs: 8 } },
    ]);
    expect(await offsetsOf(log)).toEqual(offsets);
  });

  test("one topic is loaded by its name, byte for byte; null if there is none", async () => {
    const { log, reopen } = await setup();
    await log.saveTopic("a", { retentionMs: 1, maxRetentionMs: 2 });
    await log.append("a.b", [message("m")]);
    const reopened = await reopen();
    const saved = { topic: "a", settings: { retentionMs: 1, maxRetentionMs: 2 } };
    expect(await reopened.loadTopic("a")).toEqual(saved);
    expect(await reopened.loadTopic("a.b")).toEqual({ topic: "a.b", settings: defaultTopicSettings("a.b") });
    for (const none of ["", "A", "b", "a.", "a_b"]) expect(await reopened.loadTopic(none)).toBeNull();
    await log.saveTopic("a", { retentionMs: 3, maxRetentionMs: 4 });
    expect(await reopened.loadTopic("a")).toEqual({
      topic: "a",
      settings: { retentionMs: 3, maxRetentionMs: 4 },
    });
  });

  test("the groups of all topics come at once, tombstones too, none of another tenant", async () => {
    const { log, otherTenantsLog, reopen } = await setup();
    expect(await log.loadAllGroups()).toEqual([]);
    const saved = [
      { topic: "a", record: group({ group: "x", settings: UNUSUAL }) },
      { topic: "a", record: group({ group: "y", generation: 2, deletedAtMs: 1_700_000_000_001 }) },
      { topic: "b", record: group({ group: "x", generation: 3, createdBy: "receive", startOffset: 7 }) },
    ];
    for (const { topic, record } of saved) await log.saveGroup(topic, record);
    await otherTenantsLog.saveGroup("a", group({ group: "z" }));
    const loaded = await (await reopen()).loadAllGroups();
    const nameOf = (one: { topic: string; record: GroupRecord }) => `${one.topic}/${one.record.group}`;
    expect(loaded.sort((one, other) => (nameOf(one) < nameOf(other) ? -1 : 1))).toEqual(saved);
  });

  test("all groups of many topics come", async () => {
    const { log } = await setup();
    const TOPICS = 36;
    const GROUPS = 30;
    for (let made = 0; made < TOPICS; made++) {
      const saves = Array.from({ length: GROUPS }, (_, place) =>
        log.saveGroup(`t${made}`, group({ group: `g${place}`, generation: made * GROUPS + place + 1 })),
      );
      await Promise.all(saves);
    }
    const generations = (await log.loadAllGroups()).map(({ record }) => record.generation);
    expect(generations.sort((a, b) => a - b)).toEqual(
      Array.from({ length: TOPICS * GROUPS }, (_, place) => place + 1),
    );
  });

  test("groups come back whole, in order, per topic", async () => {
    const { log, reopen } = await setup();
    const unusual = group({ group: "b", generation: 1_700_000_000_000, settings: UNUSUAL, startOffset: 7 });
    const byReceive = group({ group: "a", createdBy: "receive" });
    await log.saveGroup(TOPIC, unusual);
    await log.saveGroup(TOPIC, byReceive);
    await log.saveGroup("other", group());
    expect(await (await reopen()).loadGroups(TOPIC)).toEqual([byReceive, unusual]);
    expect(await log.loadGroups("nothing")).toEqual([]);
  });

  test("saving a group replaces it; a deleted one stays as a tombstone", async () => {
    const { log } = await setup();
    await log.saveGroup(TOPIC, group({ settings: UNUSUAL }));
    const renewed = group({ settings: DEFAULT_GROUP_SETTINGS, generation: 2 });
    await log.saveGroup(TOPIC, renewed);
    expect(await log.loadGroups(TOPIC)).toEqual([renewed]);
    const deleted = { ...renewed, deletedAtMs: 1_700_000_000_001 };
    await log.saveGroup(TOPIC, deleted);
    expect(await log.loadGroups(TOPIC)).toEqual([deleted]);
  });

  test("a group above the limit is refused; those there are may change", async () => {
    const { log } = await setup();
    for (let made = 0; made < MAX_GROUPS_PER_TOPIC; made++) {
      await log.saveGroup(TOPIC, group({ group: `g${made}`, generation: made + 1 }));
    }
    await expect(log.saveGroup(TOPIC, group())).rejects.toMatchObject({ failure: { code: "rate-limited" } });
    await log.saveGroup(TOPIC, group({ group: "g0", generation: 1, settings: UNUSUAL }));
    await log.saveGroup(TOPIC, group({ group: "g1", generation: 2, deletedAtMs: 1 }));
    await log.saveGroup(TOPIC, group({ group: GROUP, generation: 200 }));
    expect(await log.loadGroups(TOPIC)).toHaveLength(MAX_GROUPS_PER_TOPIC + 1);
  });

  test("old tombstones are bounded; young ones and the highest generations stay", async () => {
    const { log } = await setup();
    const nowMs = await clockOf(log);
    const deleted = async (from: number, to: number, deletedAtMs: number) => {
      for (let made = from; made < to; made++) {
        await log.saveGroup(TOPIC, group({ group: `g${made}`, generation: made, deletedAtMs }));
      }
    };
    await deleted(1, 151, nowMs - GROUP_TOMBSTONE_MS - 1);
    await deleted(151, 171, nowMs + 1000);
    const kept = await log.loadGroups(TOPIC);
    expect(kept.length).toBeLessThanOrEqual(MAX_GROUPS_PER_TOPIC + 1);
    expect(Math.max(...kept.map(({ generation }) => generation))).toBe(170);
    expect(kept.filter(({ generation }) => generation > 150)).toHaveLength(20);
    await deleted(171, 301, nowMs + 1000);
    expect((await log.loadGroups(TOPIC)).filter(({ generation }) => generation > 150)).toHaveLength(150);
    expect(at(await log.loadGroups(TOPIC), 0).deletedAtMs).not.toBeNull();
  });
}
