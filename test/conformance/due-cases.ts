import { expect, test } from "vitest";
import type { DuePosition, Entry } from "../../src/log/message-log.ts";
import type { MakeLog } from "./message-log-suite.ts";
import { ALL, at, message, TOPIC } from "./samples.ts";

const START: DuePosition = { dueAtMs: 0, offset: 0 };
const EVER = Number.MAX_SAFE_INTEGER;

function positionOf(entry: Entry): DuePosition {
  return { dueAtMs: entry.dueAtMs, offset: entry.offset };
}

export function dueCases(setup: MakeLog): void {
  test("only delayed messages come due", async () => {
    const { log } = await setup();
    await log.append(TOPIC, [message("a"), message("b", { delayMs: 1 }), message("c")]);
    const page = await log.scanDue(TOPIC, { after: START, throughDueMs: EVER, maxEntries: 10 });
    expect(page.entries).toHaveLength(1);
    expect(page.entries[0]).toMatchObject({ delayed: true });
    expect([page.reachedEnd, page.nextDueAtMs]).toEqual([true, null]);
  });

  test("what is due by a time, that time included, in order of due time", async () => {
    const { log } = await setup();
    await log.append(
      TOPIC,
      [5000, 1000, 3000, 3001].map((delayMs, place) => message(`m${place}`, { delayMs })),
    );
    const { entries } = await log.scanTopic(TOPIC, ALL);
    const [late, first, middle, after] = [at(entries, 0), at(entries, 1), at(entries, 2), at(entries, 3)];
    const page = await log.scanDue(TOPIC, { after: START, throughDueMs: middle.dueAtMs, maxEntries: 10 });
    expect(page).toEqual({ entries: [first, middle], reachedEnd: true, nextDueAtMs: after.dueAtMs });
    const rest = await log.scanDue(TOPIC, { after: positionOf(middle), throughDueMs: EVER, maxEntries: 10 });
    expect(rest).toEqual({ entries: [after, late], reachedEnd: true, nextDueAtMs: null });
  });

  test.each([1, 2, 3, 6, 7])("pages of %i cut equal due times and lose none", async (maxEntries) => {
    const { log } = await setup();
    await log.append(
      TOPIC,
      [9, 5, 5, 5, 5, 9, 5].map((delayMs, place) => message(`m${place}`, { delayMs })),
    );
    const { entries } = await log.scanTopic(TOPIC, ALL);
    const expected = [...entries].sort((a, b) => a.dueAtMs - b.dueAtMs || a.offset - b.offset);
    const seen: Entry[] = [];
    let reachedEnd = false;
    for (let pages = 0; !reachedEnd && pages < 20; pages++) {
      const last = seen.at(-1);
      const after = last ? positionOf(last) : START;
      const page = await log.scanDue(TOPIC, { after, throughDueMs: EVER, maxEntries });
      seen.push(...page.entries);
      reachedEnd = page.reachedEnd;
      expect(page.nextDueAtMs).toBe(expected[seen.length]?.dueAtMs ?? null);
    }
    expect(seen).toEqual(expected);
  });

  test("nothing due yet: says when the first one is", async () => {
    const { log } = await setup();
    await log.append(TOPIC, [message("a", { delayMs: 7000 })]);
    const { entries } = await log.scanTopic(TOPIC, ALL);
    const dueAtMs = at(entries, 0).dueAtMs;
    const page = await log.scanDue(TOPIC, { after: START, throughDueMs: dueAtMs - 1, maxEntries: 10 });
    expect(page).toEqual({ entries: [], reachedEnd: true, nextDueAtMs: dueAtMs });
    expect(await log.scanDue("nothing", { after: START, throughDueMs: EVER, maxEntries: 10 })).toEqual({
      entries: [],
      reachedEnd: true,
      nextDueAtMs: null,
    });
  });
}
