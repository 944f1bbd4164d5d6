import type { Command } from "commander";
import type { GroupSettingsChange } from "../client/fairlane.ts";
import { MAX_ATTEMPTS, MAX_IN_FLIGHT_PER_PARTITION } from "../core/limits.ts";
import { usageError } from "./cli-error.ts";
import { durationFlag, integerFlag } from "./durations.ts";
import { oneOf, positiveNumberFlag } from "./flag-values.ts";

/** A group's settings as flags. Durations are milliseconds. */
export interface SettingsFlags {
  visibilityTimeout?: number;
  leaseDuration?: number;
  maxInFlight?: number;
  strict?: boolean;
  maxAttempts?: number;
  backoff?: number;
  backoffMultiplier?: number;
  maxBackoff?: number;
  deadLetters?: boolean;
  startFrom?: "earliest" | "latest";
}

export function withSettingsFlags(command: Command): Command {
  return command
    .option("--strict", "one message of a partition after the other: the same as --max-in-flight 1")
    .option(
      "--max-in-flight <number>",
      "deliveries of one partition under way",
      integerFlag(1, MAX_IN_FLIGHT_PER_PARTITION),
    )
    .option("--visibility-timeout <duration>", "how long a delivery is its subscriber's", durationFlag)
    .option("--lease-duration <duration>", "how long a quiet subscriber keeps its partitions", durationFlag)
    .option(
      "--max-attempts <number>",
      "deliveries before a message is a dead letter",
      integerFlag(1, MAX_ATTEMPTS),
    )
    .option("--backoff <duration>", "wait after the first failure", durationFlag)
    .option("--backoff-multiplier <number>", "growth of that wait, from 1", positiveNumberFlag)
    .option("--max-backoff <duration>", "longest wait after a failure", durationFlag)
    .option("--dead-letters", "keep what is out of attempts as dead letters")
    .option("--no-dead-letters", "drop what is out of attempts, and count it")
    .option(
      "--start-from <end>",
      "earliest or latest; counts only for a new group",
      oneOf("earliest", "latest"),
    );
}

/** What the flags change; without one, nothing. */
export function groupChange(flags: SettingsFlags): GroupSettingsChange {
  if (flags.strict && flags.maxInFlight !== undefined && flags.maxInFlight !== 1) {
    throw usageError("--strict is --max-in-flight 1: give one of the two");
  }
  const retry = {
    initialBackoffMs: flags.backoff,
    multiplier: flags.backoffMultiplier,
    maxBackoffMs: flags.maxBackoff,
  };
  return {
    visibilityTimeoutMs: flags.visibilityTimeout,
    leaseDurationMs: flags.leaseDuration,
    maxInFlightPerPartition: flags.strict ? 1 : flags.maxInFlight,
    maxAttempts: flags.maxAttempts,
    retry: Object.values(retry).some((value) => value !== undefined) ? retry : undefined,
    deadLetters: flags.deadLetters,
    startFrom: flags.startFrom,
  };
}
