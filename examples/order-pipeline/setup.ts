import { fairlane } from "./shop.ts";

/** Makes the topics and groups; part of a deployment, with a token of the scope `admin`. Running it again is fine. */

const SETTINGS = {
  // Strict: a customer's next order waits until the one before is settled.
  maxInFlightPerPartition: 1,
  // A stage takes a second. The client extends the time of a slower one, so this is how soon a crash is noticed.
  visibilityTimeoutMs: 3000,
  leaseDurationMs: 3000,
  // An order that is given up lets the next one pass: try for a while before.
  maxAttempts: 20,
};

const RETENTION = { retentionMs: 24 * 3600 * 1000, maxRetentionMs: 30 * 24 * 3600 * 1000 };

for (const [topic, group] of [
  ["orders", "payment"],
  ["payments", "shipping"],
] as const) {
  await fairlane.admin.putTopic(topic, RETENTION);
  await fairlane.admin.putGroup(topic, group, SETTINGS);
  console.log(`${topic} is read by ${group}`);
}
