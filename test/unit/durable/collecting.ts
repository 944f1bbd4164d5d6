import { Bench, ids } from "./harness.ts";

export const RETENTION_MS = 10_000;
export const MAX_RETENTION_MS = 60_000;
export const NOTHING = { deletedMessages: 0, releasedPartitions: 0, stopped: "done" };

/** A tenant with one topic whose messages can be collected soon. */
export async function collecting() {
  const bench = new Bench();
  const settings = { retentionMs: RETENTION_MS, maxRetentionMs: MAX_RETENTION_MS };
  await bench.call("putTopic", { topic: "t", settings });
  const collect = async () => (await bench.call("collect", {})).deletedMessages;
  const stored = async (topic = "t") => {
    const { messages } = await bench.call("listMessages", {
      topic,
      partitionKey: null,
      after: 0,
      limit: 100,
    });
    return ids(messages);
  };
  return { bench, collect, stored };
}
