import { expect, test } from "vitest";
import { deadLetterTopicOf, defaultTopicSettings } from "../../src/core/settings.ts";
import type { DeadLetterCopy, MessageLog } from "../../src/log/message-log.ts";
import type { MakeLog } from "./message-log-suite.ts";
import { ALL, at, GROUP, group, idsOf, message, messages, offsetsOf, publish, TOPIC } from "./samples.ts";

const DEAD = deadLetterTopicOf(TOPIC);

function copyOf(offset: number, over: Partial<DeadLetterCopy> = {}): DeadLetterCopy {
  const origin = `${GROUP}:1:0:${offset}`;
  return { offset, group: GROUP, attempts: 3, failedAtMs: 1_234_567, reason: "no", origin, ...over };
}

/** Three messages of a known group; the first one is a dead letter. */
async function withDeadLetter(log: MessageLog): Promise<{ offsets: number[]; dead: number }> {
  await log.saveGroup(TOPIC, group());
  const offsets = await publish(log, messages(3));
  await log.copyToDeadLetters(TOPIC, [copyOf(at(offsets, 0))]);
  return { offsets, dead: at(await offsetsOf(log, DEAD), 0) };
}

export function deadLetterCases(setup: MakeLog): void {
  test("a copy keeps key, ID, body, headers and type, and says what happened", async () => {
    const { log } = await setup();
    const bytes = { body: Uint8Array.from({ length: 256 }, (_, byte) => byte), contentType: "a/b" };
    const original = message("😀'", { partitionKey: "k\n%", headers: '{"x":"y"}', delayMs: 9, ...bytes });
    const [offset] = await publish(log, [original]);
    const copy = copyOf(offset ?? 0, { reason: 'said "no" \\ 😀\n' });
    expect(await log.copyToDeadLetters(TOPIC, [copy])).toEqual({ copied: 1 });
    const [dead] = await log.readMessages(DEAD, await offsetsOf(log, DEAD));
    expect(dead).toEqual({
      offset: expect.any(Number),
      partitionKey: original.partitionKey,
      id: original.id,
      body: original.body,
      bodyBytes: 256,
      contentType: "a/b",
      headers: original.headers,
      origin: copy.origin,
      targetGroup: null,
      delayed: false,
      publishedAtMs: dead?.dueAtMs,
      dueAtMs: expect.any(Number),
      deadLetter: {
        originalTopic: TOPIC,
        originalId: original.id,
        group: GROUP,
        failedAtMs: copy.failedAtMs,
        attempts: 3,
        reason: copy.reason,
      },
    });
    expect(await idsOf(log)).toEqual([original.id]);
  });

  test("the dead-letter topic is made with its own settings", async () => {
    const { log } = await setup();
    await withDeadLetter(log);
    expect(await log.loadTopics()).toContainEqual({ topic: DEAD, settings: defaultTopicSettings(DEAD) });
  });

  test("G2: copying again makes no second dead letter", async () => {
    const { log, reopen } = await setup();
    const { offsets } = await withDeadLetter(log);
    const again = await (await reopen()).copyToDeadLetters(TOPIC, [
      copyOf(at(offsets, 0)),
      copyOf(at(offsets, 1)),
    ]);
    expect(again).toEqual({ copied: 1 });
    expect(await idsOf(log, DEAD)).toEqual(["m0", "m1"]);
  });

  test("G6: two groups' dead letters of one message are two", async () => {
    const { log } = await setup();
    const { offsets } = await withDeadLetter(log);
    const other = copyOf(at(offsets, 0), { group: "audit", origin: "audit:1" });
    expect(await log.copyToDeadLetters(TOPIC, [other])).toEqual({ copied: 1 });
    const dead = await log.listMessages(DEAD, ALL);
    expect(dead.map(({ deadLetter }) => deadLetter?.group)).toEqual([GROUP, "audit"]);
  });

  test("offsets that are gone are skipped, an empty list does nothing", async () => {
    const { log } = await setup();
    const { offsets } = await withDeadLetter(log);
    expect(await log.copyToDeadLetters(TOPIC, [copyOf(1), copyOf(at(offsets, 2))])).toEqual({ copied: 1 });
    expect(await log.copyToDeadLetters(TOPIC, [])).toEqual({ copied: 0 });
    expect(await idsOf(log, DEAD)).toEqual(["m0", "m2"]);
  });

  test("a hundred are copied in one call, in order", async () => {
    const { log } = await setup();
    const offsets = await publish(log, messages(100));
    expect(
      await log.copyToDeadLetters(
        TOPIC,
        offsets.map((offset) => copyOf(offset)),
      ),
    ).toEqual({
      copied: 100,
    });
    expect(await idsOf(log, DEAD)).toEqual(await idsOf(log));
  });

  test("a redrive puts the message at the tail, for the group that failed it", async () => {
    const { log } = await setup();
    const { offsets, dead } = await withDeadLetter(log);
    expect(await log.redrive(TOPIC, [dead])).toEqual({ redriven: 1 });
    const listed = await log.listMessages(TOPIC, ALL);
    expect(listed.map(({ id, targetGroup }) => [id, targetGroup])).toEqual([
      ["m0", null],
      ["m1", null],
      ["m2", null],
      ["m0", GROUP],
    ]);
    const back = at(listed, 3);
    expect(back).toMatchObject({ origin: `redrive:${dead}`, partitionKey: "k", delayed: false });
    expect([back.deadLetter, back.publishedAtMs]).toEqual([null, back.dueAtMs]);
    expect(back.offset).toBeGreaterThan(at(offsets, 2));
    expect(await offsetsOf(log, DEAD)).toEqual([]);
    const { entries } = await log.scanTopic(TOPIC, ALL);
    expect(at(entries, 3).targetGroup).toBe(GROUP);
  });

  test("G12: a redriven body is the published one", async () => {
    const { log } = await setup();
    await log.saveGroup(TOPIC, group());
    const body = Uint8Array.from({ length: 256 }, (_, byte) => byte);
    const [offset] = await publish(log, [message("a", { body, contentType: "a/b", headers: '{"h":"1"}' })]);
    await log.copyToDeadLetters(TOPIC, [copyOf(offset ?? 0)]);
    await log.redrive(TOPIC, await offsetsOf(log, DEAD));
    const [published, redriven] = await log.findEntries(TOPIC, "a", "k");
    expect([published?.origin, redriven?.targetGroup]).toEqual(["", GROUP]);
    const [back] = await log.readMessages(TOPIC, [redriven?.offset ?? 0]);
    expect(back).toMatchObject({ body, contentType: "a/b", headers: '{"h":"1"}', bodyBytes: 256 });
  });

  test("several are redriven in the order in which they failed", async () => {
    const { log } = await setup();
    await log.saveGroup(TOPIC, group());
    const offsets = await publish(log, messages(5));
    await log.copyToDeadLetters(
      TOPIC,
      offsets.map((offset) => copyOf(offset)),
    );
    const dead = await offsetsOf(log, DEAD);
    const shuffled = [3, 0, 4, 1].map((place) => at(dead, place));
    expect(await log.redrive(TOPIC, shuffled)).toEqual({ redriven: 4 });
    expect((await idsOf(log)).slice(5)).toEqual(["m0", "m1", "m3", "m4"]);
    expect(await idsOf(log, DEAD)).toEqual(["m2"]);
  });

  test("redriving again does nothing more", async () => {
    const { log } = await setup();
    const { dead } = await withDeadLetter(log);
    expect(await log.redrive(TOPIC, [dead, dead])).toEqual({ redriven: 1 });
    expect(await log.redrive(TOPIC, [dead])).toEqual({ redriven: 0 });
    expect(await log.redrive(TOPIC, [])).toEqual({ redriven: 0 });
    expect(await idsOf(log)).toEqual(["m0", "m1", "m2", "m0"]);
  });

  test("a dead letter whose group was deleted stays", async () => {
    const { log } = await setup();
    const { dead } = await withDeadLetter(log);
    await log.saveGroup(TOPIC, group({ deletedAtMs: 5 }));
    expect(await log.redrive(TOPIC, [dead])).toEqual({ redriven: 0 });
    expect(await offsetsOf(log, DEAD)).toEqual([dead]);
    expect(await idsOf(log)).toHaveLength(3);
  });

  test("a second failure after a redrive is another dead letter, and can be redriven too", async () => {
    const { log } = await setup();
    const { dead } = await withDeadLetter(log);
    await log.redrive(TOPIC, [dead]);
    const redriven = at(await offsetsOf(log), -1);
    expect(await log.copyToDeadLetters(TOPIC, [copyOf(redriven)])).toEqual({ copied: 1 });
    const second = at(await offsetsOf(log, DEAD), 0);
    expect(second).toBeGreaterThan(dead);
    expect(await log.redrive(TOPIC, [second])).toEqual({ redriven: 1 });
    expect(await log.findEntries(TOPIC, "m0", "k")).toHaveLength(3);
  });

  test("G8: a publish of the ID is still a duplicate after dead-lettering and redrive", async () => {
    const { log } = await setup();
    const { dead } = await withDeadLetter(log);
    await log.redrive(TOPIC, [dead]);
    expect((await log.append(TOPIC, [message("m0")])).results).toEqual([{ duplicate: true }]);
  });

  test("G8: once the published row is gone, a publish does not meet the redriven copy", async () => {
    const { log } = await setup();
    const { offsets, dead } = await withDeadLetter(log);
    await log.redrive(TOPIC, [dead]);
    await log.deleteRanges(TOPIC, [{ first: at(offsets, 0), last: at(offsets, 0) }]);
    expect((await log.append(TOPIC, [message("m0")])).results).toEqual([{ duplicate: false }]);
  });
}
