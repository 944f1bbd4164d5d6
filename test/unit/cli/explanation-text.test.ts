import { expect, test } from "vitest";
import { adviceOn } from "../../../src/cli/explanation-advice.ts";
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
  blockers: [
    { kind: "message", offset: 17, id: "order-1/placed", state: "postponed", until: SERVER_MS + 12_000 },
  ],
  lease: { subscriber: "worker-1", epoch: 5, expiresAt: SERVER_MS + 30_000 },
  nextChangeAt: SERVER_MS + 12_000,
  nextState: "deliverable",
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
  expect(text).toMatch(
    /the message order-1\/placed at offset 17 before it, which is postponed, until \S+ \(in 12 s\)/,
  );
  expect(text).toMatch(/\n\nNext change: \S+ \(in 12 s\), then deliverable$/);
  const kept = explanationText(out, { ...EXPLANATION, nextState: "waiting" }, NOW_MS);
  expect(kept).toMatch(/\(in 12 s\), then still waiting$/);
  expect(text).toMatch(/worker-1, until \S+ \(in 30 s\)/);
  const never = { ...EXPLANATION, nextChangeAt: null, nextState: null };
  expect(explanationText(out, never, NOW_MS)).not.toContain("hange");
  expect(text).not.toContain("route");
  expect(explanationText(out, { ...EXPLANATION, route: "alice" }, NOW_MS)).toMatch(/\nroute +alice\n/);
  const delivered = { ...EXPLANATION, deliveredAt: SERVER_MS - 120_000 };
  expect(explanationText(out, delivered, NOW_MS)).toMatch(/delivered +\S+ \(2 min ago\)/);
});

test("what is to be done is a command to copy", () => {
  const of = (more: Partial<Explanation>) => adviceOn({ ...EXPLANATION, ...more });
  const at = "fairlane inspect orders --key order-1";
  expect(of({})).toEqual([`look at the message before it: ${at} --id order-1/placed`]);
  const behind = (id?: string): Blocker => ({
    kind: "message",
    offset: 17,
    id,
    state: "waiting",
    until: null,
  });
  expect(of({ blockers: [behind()] })).toEqual([`look at the message before it: ${at} --offset 17`]);
  // What a terminal cannot show as it is cannot be copied either.
  expect(of({ blockers: [behind("a\u202eb")] })).toEqual([
    `look at the message before it: ${at} --offset 17`,
  ]);
  expect(of({ partitionKey: "a\nb" })).toEqual([]);
  expect(of({ partitionKey: "it's $HOME", blockers: [behind("~0")] })).toEqual([
    "look at the message before it: fairlane inspect orders --key 'it'\\''s $HOME' --id '~0'",
  ]);
  expect(of({ blockers: [{ kind: "group-paused" }, { kind: "no-subscriber" }] })).toEqual([
    "resume it: fairlane groups resume orders billing",
    "start a consumer, such as: fairlane consume orders --group billing -- <program>",
  ]);
  expect(of({ route: "alice", blockers: [{ kind: "no-subscriber", route: "alice" }] })).toEqual([
    "start a consumer, such as: fairlane consume orders --group billing --route alice -- <program>",
  ]);
  expect(of({ blockers: [{ kind: "lease", subscriber: "w", epoch: 1, expiresAt: 1 }] })).toEqual([
    "if w is gone for good: fairlane release-lease orders billing --key order-1",
  ]);
  const busy: Blocker[] = [
    { kind: "nobody-asking", subscribers: 1 },
    { kind: "in-flight-limit", inFlight: 1, limit: 1, until: null },
  ];
  expect(of({ blockers: busy })).toEqual(["see who has what: fairlane subscribers orders billing"]);
  const out = { blockers: [], state: "in-flight" as const, subscriber: "w" };
  expect(of({ ...out, deliveredAt: 1 })).toEqual(["see what w has: fairlane subscribers orders billing"]);
  expect(of({ blockers: [], state: "dead-lettered" })).toEqual([
    "mend the cause, then: fairlane redrive orders --group billing --id order-1/paid --key order-1",
  ]);
  expect(of({ blockers: [{ kind: "unread" }] })).toEqual([]);
});

test("that nobody is there is said of the group, or of the route", () => {
  const words = (blocker: Blocker) => blockerText(blocker, () => "");
  expect(words({ kind: "no-subscriber" })).toBe("a subscriber: the group has no live one");
  expect(words({ kind: "no-subscriber", route: "alice" })).toBe(
    "a subscriber of route alice: it has no live one",
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
