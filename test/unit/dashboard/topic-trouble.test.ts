import { expect, test } from "vitest";
import type { GroupOverview, TopicOverview } from "../../../src/client/fairlane.ts";
import { mostStuckTopic, oldestUnsettledAt, STUCK_MS } from "../../../src/dashboard/topic-trouble.ts";

const TAKEN_AT = 1_800_000_000_000;

function topic(name: string, ...agesMs: (number | null)[]): TopicOverview {
  const groups = agesMs.map(
    (ageMs, index): GroupOverview => ({
      group: `g${index}`,
      paused: false,
      backlog: 1,
      inFlight: 0,
      subscribers: 1,
      oldestUnsettledAt: ageMs === null ? null : TAKEN_AT - ageMs,
      expired: 0,
      dropped: 0,
    }),
  );
  return { topic: name, messages: 1, oldestPublishedAt: null, deadLetters: 0, takenAt: TAKEN_AT, groups };
}

test("a topic's oldest message is that of any of its groups", () => {
  expect(oldestUnsettledAt(topic("a"))).toBeNull();
  expect(oldestUnsettledAt(topic("a", null))).toBeNull();
  expect(oldestUnsettledAt(topic("a", 5, null, 9))).toBe(TAKEN_AT - 9);
});

test("the one topic of which a message waits longest is marked, and none where all flows", () => {
  expect(mostStuckTopic([])).toBeNull();
  expect(mostStuckTopic([topic("a", STUCK_MS - 1), topic("b", null), topic("c")])).toBeNull();
  expect(mostStuckTopic([topic("a", STUCK_MS), topic("b", 5, STUCK_MS + 1), topic("c", STUCK_MS)])).toBe("b");
  expect(mostStuckTopic([topic("a", STUCK_MS), topic("b", STUCK_MS)])).toBe("a");
});

test("snapshots taken at different times are compared by age, not by time", () => {
  const late = { ...topic("late", STUCK_MS), takenAt: TAKEN_AT + 20_000 };
  expect(mostStuckTopic([topic("a", STUCK_MS + 10_000), late])).toBe("late");
});
