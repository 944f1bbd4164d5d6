import { describe, expect, test } from "vitest";
import {
  DEAD_LETTER_RETENTION_MS,
  MAX_ATTEMPTS,
  MAX_DURATION_MS,
  MAX_IN_FLIGHT_PER_PARTITION,
  MAX_TOPIC_CHARS,
  MAX_VISIBILITY_TIMEOUT_MS,
  MIN_LEASE_DURATION_MS,
  MIN_RETENTION_MS,
  MIN_VISIBILITY_TIMEOUT_MS,
} from "../../../src/core/limits.ts";
import { topicProblem } from "../../../src/core/names.ts";
import {
  DEFAULT_GROUP_SETTINGS,
  DEFAULT_TOPIC_SETTINGS,
  deadLetterTopicOf,
  defaultTopicSettings,
  isDeadLetterTopic,
} from "../../../src/core/settings.ts";

describe("defaults", () => {
  test("are those that are published", () => {
    expect(DEFAULT_GROUP_SETTINGS).toEqual({
      visibilityTimeoutMs: 30_000,
      leaseDurationMs: 30_000,
      maxInFlightPerPartition: 10,
      maxAttempts: 3,
      retry: { initialBackoffMs: 1000, multiplier: 2, maxBackoffMs: 30_000 },
      deadLetters: true,
      startFrom: "earliest",
      paused: false,
    });
    expect(DEFAULT_TOPIC_SETTINGS).toEqual({ retentionMs: 3_600_000, maxRetentionMs: 604_800_000 });
  });

  test("lie within what is allowed", () => {
    const group = DEFAULT_GROUP_SETTINGS;
    expect(group.visibilityTimeoutMs).toBeGreaterThanOrEqual(MIN_VISIBILITY_TIMEOUT_MS);
    expect(group.visibilityTimeoutMs).toBeLessThanOrEqual(MAX_VISIBILITY_TIMEOUT_MS);
    expect(group.leaseDurationMs).toBeGreaterThanOrEqual(MIN_LEASE_DURATION_MS);
    expect(group.leaseDurationMs).toBeLessThanOrEqual(MAX_DURATION_MS);
    expect(group.maxInFlightPerPartition).toBeLessThanOrEqual(MAX_IN_FLIGHT_PER_PARTITION);
    expect(group.maxAttempts).toBeLessThanOrEqual(MAX_ATTEMPTS);
    expect(group.retry.initialBackoffMs).toBeLessThanOrEqual(group.retry.maxBackoffMs);
    for (const topic of [DEFAULT_TOPIC_SETTINGS, defaultTopicSettings("a_dlq")]) {
      expect(topic.retentionMs).toBeGreaterThanOrEqual(MIN_RETENTION_MS);
      expect(topic.maxRetentionMs).toBeGreaterThanOrEqual(topic.retentionMs);
      expect(topic.maxRetentionMs).toBeLessThanOrEqual(MAX_DURATION_MS);
    }
  });
});

describe("dead-letter topics", () => {
  test("are known by their ending", () => {
    expect(["a_dlq", "_dlq", "a_dlq_dlq"].map(isDeadLetterTopic)).toEqual([true, true, true]);
    expect(["a", "a_dlq2", "dlq", "a_DLQ", ""].map(isDeadLetterTopic)).toEqual([
      false,
      false,
      false,
      false,
      false,
    ]);
  });

  test("of every topic is one, and a name that is allowed, the longest topic's too", () => {
    for (const topic of ["a", "a.b-c_d", "z".repeat(MAX_TOPIC_CHARS)]) {
      expect(isDeadLetterTopic(deadLetterTopicOf(topic))).toBe(true);
      expect(topicProblem(deadLetterTopicOf(topic))).toBeNull();
    }
  });

  test("keep their messages 14 days, others as the defaults say", () => {
    expect(defaultTopicSettings("orders")).toEqual(DEFAULT_TOPIC_SETTINGS);
    const kept = { retentionMs: DEAD_LETTER_RETENTION_MS, maxRetentionMs: DEAD_LETTER_RETENTION_MS };
    expect(defaultTopicSettings("orders_dlq")).toEqual(kept);
    expect(DEAD_LETTER_RETENTION_MS).toBe(14 * 86_400_000);
  });
});
