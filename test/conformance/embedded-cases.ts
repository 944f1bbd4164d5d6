import { expect, onTestFinished, test } from "vitest";
import type { LogHarness } from "./message-log-suite.ts";
import { at, idsOf, message, messages, publish, TOPIC } from "./samples.ts";

const EVER = Number.MAX_SAFE_INTEGER;

/** Its clock is the test's. */
export interface EmbeddedHarness extends LogHarness {
  stepClock: (byMs: number) => void;
}

/** What the embedded log promises beyond the contract: offsets never go back, whatever the clock does. */
export function embeddedCases(makeLog: () => Promise<EmbeddedHarness>): void {
  const setup = async () => {
    const harness = await makeLog();
    onTestFinished(() => harness.close());
    return harness;
  };

  test("G9: entries appear in the order of their offsets: there is no commit horizon", async () => {
    const { log } = await setup();
    expect(log.commitHorizonMs).toBe(0);
  });

  test("G9: an offset is the clock in microseconds, or one more than the last", async () => {
    const { log } = await setup();
    const { nowMs } = await log.tail(TOPIC);
    const first = (nowMs - Date.UTC(2020, 0, 1)) * 1000;
    expect(await publish(log, messages(2))).toEqual([first, first + 1]);
    expect((await publish(log, [message("x")])).at(-1)).toBe(first + 2);
  });

  test("G9: offsets grow when the clock steps back", async () => {
    const { log, stepClock, reopen } = await setup();
    await log.append(TOPIC, [message("a")]);
    stepClock(-3_600_000);
    await log.append(TOPIC, [message("b")]);
    stepClock(-3_600_000);
    await (await reopen()).append(TOPIC, [message("c")]);
    expect(await idsOf(log)).toEqual(["a", "b", "c"]);
  });

  test("G9: offsets grow after everything was deleted and the clock stepped back", async () => {
    const { log, reopen, stepClock } = await setup();
    const offsets = await publish(log, messages(3));
    await log.purge(TOPIC, { throughOffset: EVER, maxEntries: 10 });
    stepClock(-86_400_000);
    const reopened = await reopen();
    expect((await reopened.tail(TOPIC)).offset).toBe(at(offsets, 2));
    const { stored } = await reopened.append(TOPIC, [message("a")]);
    expect(stored?.lowestOffset).toBe(at(offsets, 2) + 1);
  });

  test.each(["purge", "range"])("the tail stays where it was when a %s empties the topic", async (by) => {
    const { log, reopen } = await setup();
    await log.saveTopic(TOPIC, { retentionMs: 5, maxRetentionMs: 6 });
    const offsets = await publish(log, messages(3));
    if (by === "purge") await log.purge(TOPIC, { throughOffset: EVER, maxEntries: 10 });
    else await log.deleteRanges(TOPIC, [{ first: 0, last: EVER }]);
    expect((await log.tail(TOPIC)).offset).toBe(at(offsets, 2));
    await log.saveTopic(TOPIC, { retentionMs: 7, maxRetentionMs: 8 });
    expect((await (await reopen()).tail(TOPIC)).offset).toBe(at(offsets, 2));
  });

  test("a full log refuses publishes, not reads and deletes, and accepts again once there is room", async () => {
    const { log, reopen } = await setup();
    const body = JSON.stringify("x".repeat(100_000));
    await log.append(TOPIC, messages(20, { body }));
    const full = await reopen({ maxBytes: 1_500_000 });
    const refused = full.append(TOPIC, [message("more")]);
    await expect(refused).rejects.toMatchObject({
      failure: { code: "rate-limited", detail: "tenant storage full", retryAfterMs: expect.any(Number) },
    });
    expect(await idsOf(full)).toHaveLength(20);
    expect(await full.purge(TOPIC, { throughOffset: Number.MAX_SAFE_INTEGER, maxEntries: 15 })).toEqual({
      deleted: 15,
    });
    expect((await full.append(TOPIC, [message("more")])).results).toEqual([{ duplicate: false }]);
  });
}
