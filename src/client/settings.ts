/** Settings of groups and topics. Durations are milliseconds. */

/** How long a failed message waits: `initialBackoffMs · multiplier^(attempt - 1)`, at most `maxBackoffMs`. */
export interface RetrySettings {
  initialBackoffMs: number;
  /** From 1. */
  multiplier: number;
  maxBackoffMs: number;
}

export interface GroupSettings {
  /** How long a delivery is its subscriber's without a word from it; 1000 to 43200000. */
  visibilityTimeoutMs: number;
  /** How long a subscriber counts as live after its last call; from 1000. */
  leaseDurationMs: number;
  /** Deliveries under way in one partition; 1 makes each partition strictly serial. */
  maxInFlightPerPartition: number;
  /** Deliveries of one message before it becomes a dead letter. */
  maxAttempts: number;
  retry: RetrySettings;
  /** false: a message out of attempts is dropped and counted. */
  deadLetters: boolean;
  /** Where the group began; counts only when it is made. */
  startFrom: "earliest" | "latest";
  /** true: nothing is delivered. */
  paused: boolean;
}

/** What a `putGroup` changes; absent settings keep their value, at first the default. */
export interface GroupSettingsChange {
  visibilityTimeoutMs?: number | undefined;
  leaseDurationMs?: number | undefined;
  maxInFlightPerPartition?: number | undefined;
  maxAttempts?: number | undefined;
  retry?:
    | {
        initialBackoffMs?: number | undefined;
        multiplier?: number | undefined;
        maxBackoffMs?: number | undefined;
      }
    | undefined;
  deadLetters?: boolean | undefined;
  startFrom?: "earliest" | "latest" | undefined;
  paused?: boolean | undefined;
}

export interface Group extends GroupSettings {
  createdBy: "admin" | "receive";
}

export interface TopicSettings {
  /** A message and its ID are kept at least so long after publishing. */
  retentionMs: number;
  /** A message goes so long after it was due, settled or not; never below `retentionMs`. */
  maxRetentionMs: number;
}

export interface TopicSettingsChange {
  retentionMs?: number | undefined;
  maxRetentionMs?: number | undefined;
}
