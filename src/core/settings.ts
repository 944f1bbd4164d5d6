import { DEAD_LETTER_RETENTION_MS, DEAD_LETTER_SUFFIX } from "./limits.ts";

/** How a failed delivery is tried again. Backoffs in milliseconds. */
export interface RetrySettings {
  initialBackoffMs: number;
  multiplier: number;
  maxBackoffMs: number;
}

/** A consumer group's settings, as the API shows them. */
export interface GroupSettings {
  visibilityTimeoutMs: number;
  leaseDurationMs: number;
  maxInFlightPerPartition: number;
  maxAttempts: number;
  retry: RetrySettings;
  deadLetters: boolean;
  startFrom: "earliest" | "latest";
  paused: boolean;
}

export interface TopicSettings {
  /** How long a message and its ID are kept after it was published, at least. */
  retentionMs: number;
  /** When a message goes even unsettled, counted from when it was due. */
  maxRetentionMs: number;
}

export const DEFAULT_GROUP_SETTINGS: GroupSettings = {
  visibilityTimeoutMs: 30_000,
  leaseDurationMs: 30_000,
  maxInFlightPerPartition: 10,
  maxAttempts: 3,
  retry: { initialBackoffMs: 1000, multiplier: 2, maxBackoffMs: 30_000 },
  deadLetters: true,
  startFrom: "earliest",
  paused: false,
};

export const DEFAULT_TOPIC_SETTINGS: TopicSettings = { retentionMs: 3_600_000, maxRetentionMs: 604_800_000 };

export function isDeadLetterTopic(topic: string): boolean {
  return topic.endsWith(DEAD_LETTER_SUFFIX);
}

export function deadLetterTopicOf(topic: string): string {
  return topic + DEAD_LETTER_SUFFIX;
}

/** What a topic starts with: dead letters are kept longer than the messages they came from. */
export function defaultTopicSettings(topic: string): TopicSettings {
  return isDeadLetterTopic(topic)
    ? { retentionMs: DEAD_LETTER_RETENTION_MS, maxRetentionMs: DEAD_LETTER_RETENTION_MS }
    : DEFAULT_TOPIC_SETTINGS;
}
