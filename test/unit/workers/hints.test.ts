import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { FairlaneError } from "../../../src/core/failure.ts";
import {
  CARRIER_TERM_MS,
  DELIVERY_WAIT_MS,
  HINT_DEADLINE_MS,
  HINT_INTERVAL_MS,
  HINT_RETRY_MS,
  Hints,
  MAX_HINT_WAITERS,
  MAX_HINTED_TOPICS,
  type Offsets,
} from "../../../src/workers/hints.ts";
import { ManualTime } from "./manual-time.ts";

let lines: string[];
beforeEach(() => {
  lines = [];
  vi.spyOn(console, "warn").mockImplementation((line: string) => void lines.push(line));
});
afterEach(() => {
  vi.restoreAllMocks();
});

type Verdict = "told" | "failed";

/** An object that is told at once, or holds each call until the test decides. */
function setup({ holds = false } = {}) {
  const time = new ManualTime();
  const startMs = time.nowMs;
  const sent: { tenant: string; topic: string; offsets: Offsets; atMs: number }[] = [];
  const held: ((verdict: Verdict) => void)[] = [];
  let failing = false;
  const hints = new Hints({
    notify: (tenant, { topic, offsets }, deadlineMs) => {
      expect(deadlineMs).toBe(HINT_DEADLINE_MS);
      sent.push({ tenant, topic, offsets, atMs: time.nowMs - startMs });
      const failure = new FairlaneError({ code: "rate-limited", detail: "busy" });
      if (!holds) return failing ? Promise.reject(failure) : Promise.resolve(null);
      return new Promise((resolve, reject) => {
        held.push((verdict) => (verdict === "told" ? resolve(null) : reject(failure)));
      });
    },
    nowMs: () => time.nowMs,
    after: time.after,
  });
  const works: Promise<unknown>[] = [];
  const place = (topic: string, tenant: string) => ({
    tenant,
    topic,
    waitUntil: (work: Promise<unknown>) => void works.push(work),
  });
  return {
    time,
    hints,
    sent,
    works,
    held,
    fail: (value: boolean) => {
      failing = value;
    },
    hint: (offsets: Offsets, topic = "t", tenant = "demo") => hints.hint(place(topic, tenant), offsets),
    /** How long the publish was held back, once it is not any more. */
    wait: (offsets: Offsets, topic = "t") => {
      const sinceMs = time.nowMs;
      const waited = { ms: null as number | null };
      void hints.hintAndWait(place(topic, "demo"), offsets).then(() => {
        waited.ms = time.nowMs - sinceMs;
      });
      return waited;
    },
  };
}

const at = (lowest: number, highest = lowest) => ({ lowest, highest });
const offsetsOf = (sent: { offsets: Offsets }[]) => sent.map(({ offsets }) => offsets);

describe("coalescing", () => {
  test("the first hint goes out at once, what comes meanwhile as one, 10 ms after it", async () => {
    const { hint, sent, time, works } = setup();
    hint(at(5, 7));
    hint(at(9));
    hint(at(3, 4));
    hint(at(8));
    expect(offsetsOf(sent)).toEqual([at(5, 7)]);
    await time.advance(HINT_INTERVAL_MS - 1);
    expect(sent).toHaveLength(1);
    await time.advance(1);
    expect(offsetsOf(sent)).toEqual([at(5, 7), at(3, 9)]);
    await Promise.all(works);
    expect(works).toHaveLength(1);
    expect(time.pendingTimers).toBe(0);
  });

  test("2000 publishes in a second make 100 hints, that leave no offset out", async () => {
    const { hint, sent, time } = setup();
    for (let i = 0; i < 2000; i++) {
      hint(at(i));
      if (i % 2 === 1) await time.advance(1);
    }
    await time.advance(HINT_INTERVAL_MS);
    expect(sent.length).toBeGreaterThan(90);
    expect(sent.length).toBeLessThanOrEqual(101);
    for (let i = 1; i < sent.length; i++) {
      expect((sent[i]?.atMs ?? 0) - (sent[i - 1]?.atMs ?? 0)).toBeGreaterThanOrEqual(HINT_INTERVAL_MS);
    }
    const told = new Set(
      sent.flatMap(({ offsets }) =>
        offsets
          ? Array.from({ length: offsets.highest - offsets.lowest + 1 }, (_, i) => offsets.lowest + i)
          : [],
      ),
    );
    expect(told.size).toBe(2000);
  });

  test("a hint soon after another waits as well, though nothing was pending in between", async () => {
    const { hint, sent, time, works } = setup();
    hint(at(1));
    await time.advance(4);
    hint(at(2));
    expect(sent).toHaveLength(1);
    await time.advance(6);
    expect(sent.map(({ atMs }) => atMs)).toEqual([0, HINT_INTERVAL_MS]);
    expect(works).toHaveLength(2);
  });

  test("none while one is under way", async () => {
    const { hint, sent, time, held } = setup({ holds: true });
    hint(at(1));
    hint(at(2));
    await time.advance(1000);
    expect(sent).toHaveLength(1);
    held[0]?.("told");
    await time.settle();
    expect(offsetsOf(sent)).toEqual([at(1), at(2)]);
  });

  test("unknown offsets do not hide known ones: they are told apart", async () => {
    const { hint, sent, time } = setup();
    hint(at(1));
    hint(null);
    hint(at(2));
    hint(null);
    await time.advance(3 * HINT_INTERVAL_MS);
    expect(offsetsOf(sent)).toEqual([at(1), at(2), null]);
  });

  test("topics and tenants are apart", async () => {
    const { hint, sent } = setup({ holds: true });
    hint(at(1), "t", "demo");
    hint(at(2), "u", "demo");
    hint(at(3), "t", "acme");
    expect(sent.map(({ tenant, topic }) => `${tenant}/${topic}`)).toEqual(["demo/t", "demo/u", "acme/t"]);
  });
});

describe("a carrier whose request was ended", () => {
  test("is followed by the next publish after its term, as soon as its call must be over", async () => {
    const { hint, sent, time, works } = setup({ holds: true });
    hint(at(1));
    await time.advance(1000);
    hint(at(2));
    await time.advance(CARRIER_TERM_MS - 1001);
    hint(at(3));
    expect(works).toHaveLength(1);
    await time.advance(1);
    hint(at(4));
    await time.settle();
    expect(works).toHaveLength(2);
    expect(offsetsOf(sent)).toEqual([at(1), at(2, 4)]);
  });

  test("that lives all the same stops when it sees its follower, which waits for the call under way", async () => {
    const { hint, sent, time, held, works } = setup({ holds: true });
    let stopped = false;
    hint(at(1));
    void works[0]?.then(() => {
      stopped = true;
    });
    await time.advance(1500);
    hint(at(2));
    held[0]?.("told");
    await time.settle();
    await time.advance(CARRIER_TERM_MS - 1500);
    hint(at(3));
    await time.advance(500);
    hint(at(4));
    expect([works.length, offsetsOf(sent), stopped]).toEqual([2, [at(1), at(2)], false]);
    held[1]?.("told");
    await time.settle();
    expect([offsetsOf(sent), stopped]).toEqual([[at(1), at(2), at(3, 4)], true]);
    held[2]?.("told");
    await Promise.all(works);
    expect([works.length, time.pendingTimers]).toEqual([2, 0]);
  });

  test("a step back of the clock keeps no dead carrier alive", async () => {
    const { hint, sent, time, works } = setup({ holds: true });
    hint(at(1));
    time.nowMs -= 60_000;
    hint(at(2));
    expect(works).toHaveLength(2);
    await time.advance(60_000 + HINT_DEADLINE_MS);
    expect(offsetsOf(sent)).toEqual([at(1), at(2)]);
  });
});

describe("a publish that is held back for its hint", () => {
  test("goes on when a hint with its range was delivered, whoever carries it", async () => {
    const { hint, wait, time, held, works } = setup({ holds: true });
    hint(at(1));
    const waited = wait(at(2));
    await time.advance(20);
    held[0]?.("told");
    await time.settle();
    expect(waited.ms).toBeNull();
    held[1]?.("told");
    await time.settle();
    expect(waited.ms).toBe(20);
    await Promise.all(works);
    expect([works.length, time.pendingTimers]).toEqual([1, 0]);
  });

  test("is held back no longer than 250 ms", async () => {
    const { wait, time } = setup({ holds: true });
    const waited = wait(at(1));
    await time.advance(DELIVERY_WAIT_MS - 1);
    expect(waited.ms).toBeNull();
    await time.advance(1);
    expect(waited.ms).toBe(DELIVERY_WAIT_MS);
  });

  test("has its failed hint sent again, with what came meanwhile; others are not", async () => {
    const { wait, hint, fail, sent, time, works } = setup();
    fail(true);
    hint(at(1), "other");
    const waited = wait(at(5));
    await time.advance(1);
    hint(at(3));
    fail(false);
    await time.advance(HINT_RETRY_MS);
    expect(waited.ms).toBe(HINT_RETRY_MS);
    expect(sent.map(({ topic, offsets }) => [topic, offsets])).toEqual([
      ["other", at(1)],
      ["t", at(5)],
      ["t", at(3, 5)],
    ]);
    await Promise.all(works);
  });

  test("is not sent for for ever", async () => {
    const { wait, fail, sent, time, works } = setup();
    fail(true);
    const waited = wait(at(5));
    await time.advance(10_000);
    expect(waited.ms).toBe(DELIVERY_WAIT_MS);
    expect(sent.length).toBeLessThanOrEqual(Math.ceil(DELIVERY_WAIT_MS / HINT_RETRY_MS) + 1);
    await Promise.all(works);
  });

  test("with unknown offsets waits for the hint that says so", async () => {
    const { hint, wait, sent, time, held } = setup({ holds: true });
    hint(at(1));
    const waited = wait(null);
    await time.advance(20);
    held[0]?.("told");
    await time.settle();
    held[1]?.("told");
    await time.settle();
    expect([offsetsOf(sent), waited.ms]).toEqual([[at(1), null], 20]);
  });

  test("waits its time out where too many are told already", async () => {
    const { wait, time, held } = setup({ holds: true });
    const waits = Array.from({ length: MAX_HINT_WAITERS + 1 }, (_, i) => wait(at(i)));
    await time.advance(20);
    held[0]?.("told");
    await time.settle();
    held[1]?.("told");
    await time.settle();
    expect(waits.filter(({ ms }) => ms === 20)).toHaveLength(MAX_HINT_WAITERS);
    await time.advance(DELIVERY_WAIT_MS);
    expect(waits.at(-1)?.ms).toBe(DELIVERY_WAIT_MS);
    const next = wait(at(9));
    await time.advance(HINT_INTERVAL_MS);
    held[2]?.("told");
    await time.settle();
    expect(next.ms).toBe(HINT_INTERVAL_MS);
  });
});

describe("bounds", () => {
  test("the least recently hinted topic is forgotten first, and its living carrier still sends", async () => {
    const { hint, hints, sent, time, held } = setup({ holds: true });
    hint(at(1), "first");
    hint(at(2), "first");
    for (let i = 0; i < MAX_HINTED_TOPICS; i++) hint(at(i), `t${i}`);
    expect(hints.remembered).toBe(MAX_HINTED_TOPICS);
    held[0]?.("told");
    await time.advance(HINT_INTERVAL_MS);
    expect(sent.filter(({ topic }) => topic === "first").map(({ offsets }) => offsets)).toEqual([
      at(1),
      at(2),
    ]);
  });

  test("failures are counted in a line a second", async () => {
    const { hint, fail, time } = setup();
    fail(true);
    for (let i = 0; i < 30; i++) {
      hint(at(i), `t${i}`);
      await time.advance(100);
    }
    const told = lines.map((line) => JSON.parse(line));
    expect(told.map(({ failures }) => failures)).toEqual([1, 10, 10]);
    expect(told[0]).toMatchObject({
      level: "warn",
      event: "hints-failed",
      lastMessage: "rate-limited: busy",
    });
  });
});
