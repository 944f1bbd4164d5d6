import { expect, test } from "vitest";
import { blockerText, explanationText } from "../../../src/cli/explanation-text.ts";
import { Output } from "../../../src/cli/output.ts";
import type { Blocker, Explanation } from "../../../src/client/fairlane.ts";
import { blocker as blockerSchema } from "../../../src/protocol/explain.ts";
import { fakeShell } from "./fake-shell.ts";

const SERVER_MS = 5_000_000;
/** This machine's clock is an hour ahead of the server's. */
const NOW_MS = SERVER_MS + 3_600_000;
const EXPLANATION: Explanation = {
  topic: "orders",
  group: "billing",
  partitionKey: "order-1",
  id: "order-1/paid",
  offset: 18,
  publishedAt: SERVER_MS - 60_000,
  dueAt: SERVER_MS - 60_000,
  state: "waiting",
  summary: "It waits.",
  attempt: 2,
  maxAttempts: 3,
  until: null,
  reason: "timeout\x1b[2J",
  blockers: [{ kind: "message", offset: 17, state: "postponed", until: SERVER_MS + 12_000 }],
  lease: { subscriber: "worker-1", epoch: 5, expiresAt: SERVER_MS + 30_000 },
  nextChangeAt: SERVER_MS + 12_000,
  at: SERVER_MS,
};

test("an explanation says what, why and until when, by the server's clock", () => {
  const out = new Output(fakeShell({ terminal: true, env: { NO_COLOR: "1" } }), {
    json: false,
    quiet: false,
  });
  const text = explanationText(out, EXPLANATION, NOW_MS);
  expect(text).toContain(
    "order-1/paid of partition order-1 in orders, for group billing: waiting\nIt waits.",
  );
  expect(text).toContain("2 of 3");
  expect(text).toContain("timeout\\x1b[2J");
  expect(text).toMatch(/the message at offset 17 before it, which is postponed, until \S+ \(in 12 s\)/);
  expect(text).toMatch(/Next change: \S+ \(in 12 s\)$/);
  expect(text).toMatch(/worker-1, until \S+ \(in 30 s\)/);
  expect(explanationText(out, { ...EXPLANATION, nextChangeAt: null }, NOW_MS)).toContain(
    "Time alone changes nothing",
  );
});

test("every kind of blocker has its sentence", () => {
  const samples: Record<Blocker["kind"], Blocker> = {
    "group-paused": { kind: "group-paused" },
    "log-unavailable": { kind: "log-unavailable", until: 1 },
    "no-subscriber": { kind: "no-subscriber" },
    "nobody-asking": { kind: "nobody-asking", subscribers: 1 },
    lease: { kind: "lease", subscriber: "s", epoch: 1, expiresAt: 1 },
    share: { kind: "share", subscriber: null, until: null },
    message: {
      kind: "message",
      offset: 1,
      state: "in-flight",
      attempt: 2,
      until: 1,
      subscriber: "s",
      reason: "r",
    },
    "in-flight-limit": { kind: "in-flight-limit", inFlight: 10, limit: 10, until: 1 },
    "failed-limit": { kind: "failed-limit" },
    unread: { kind: "unread" },
  };
  const kinds = blockerSchema.options.map((option) => option.shape.kind.value);
  expect(Object.keys(samples).sort()).toEqual([...kinds].sort());
  for (const sample of Object.values(samples)) {
    const words = blockerText(sample, (atMs) => `T${atMs}`);
    expect(words).not.toBe(sample.kind);
    expect(words).toMatch(/ /);
  }
});
