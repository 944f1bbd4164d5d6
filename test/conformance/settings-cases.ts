import { expect, test } from "vitest";
import { GROUP_TOMBSTONE_MS, MAX_GROUPS_PER_TOPIC } from "../../src/core/limits.ts";
import { DEFAULT_GROUP_SETTINGS, type GroupSettings } from "../../src/core/settings.ts";
import type { MakeLog } from "./message-log-suite.ts";
import { at, GROUP, group, message, publish, TOPIC } from "./samples.ts";

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

  test("a publish keeps a topic's settings, and new settings keep its tail", async () => {
    const { log } = await setup();
    await log.saveTopic(TOPIC, { retentionMs: 5, maxRetentionMs: 6 });
    const [offset] = await publish(log, [message("a")]);
    await log.purge(TOPIC, { throughOffset: Number.MAX_SAFE_INTEGER, maxEntries: 10 });
    await log.saveTopic(TOPIC, { retentionMs: 7, maxRetentionMs: 8 });
    expect(await log.loadTopics()).toEqual([
      { topic: TOPIC, settings: { retentionMs: 7, maxRetentionMs: 8 } },
    ]);
    expect((await log.tail(TOPIC)).offset).toBe(offset);
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
    const { nowMs } = await log.tail(TOPIC);
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
