import { expect, test } from "vitest";
import { fireEachMinute } from "../../../src/local/cron-clock.ts";
import type { CronResult } from "../../../src/local/local-server.ts";

/** A clock that always stands one millisecond before the full minute. */
const almostFull = () => 59_999;

test("cron fires at the full minute, again after each run, and reports failed runs in one line", async () => {
  const results: CronResult[] = [
    { ok: true },
    { ok: false, reason: "acme failed\nglobex failed" },
    { ok: false },
  ];
  const lines: string[] = [];
  let fired = 0;
  await new Promise<void>((done) => {
    const stop = fireEachMinute(
      async () => results[fired++] ?? { ok: true },
      almostFull,
      (line) => {
        lines.push(line);
        if (lines.length < 2) return;
        stop();
        done();
      },
    );
  });
  expect(fired).toBe(3);
  expect(lines).toEqual(["cron run failed: acme failed globex failed", "cron run failed: unknown"]);
});

test("a run under way delays the next, and nothing is fired or reported after the stop", async () => {
  const started: ((result: CronResult) => void)[] = [];
  let onStart = () => {};
  const firstStarted = new Promise<void>((resolve) => {
    onStart = resolve;
  });
  const lines: string[] = [];
  const stop = fireEachMinute(
    () =>
      new Promise((resolve) => {
        started.push(resolve);
        onStart();
      }),
    almostFull,
    (line) => lines.push(line),
  );
  await firstStarted;
  await new Promise((resolve) => setImmediate(resolve));
  stop();
  started[0]?.({ ok: false, reason: "late" });
  await new Promise((resolve) => setImmediate(resolve));
  expect([started.length, lines]).toEqual([1, []]);
});
