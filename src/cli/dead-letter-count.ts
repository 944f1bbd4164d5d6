import { FairlaneApiError } from "../client/fairlane.ts";
import { deadLetterTopicOf } from "../core/settings.ts";
import type { Run } from "./run.ts";

/**
 * How many dead letters a topic has. Its dead-letter topic is made with the first of them; a topic that does not exist
 * at all is an error.
 */
export async function countDeadLetters(
  run: Run,
  topic: string,
): Promise<{ count: number; atLeast: boolean }> {
  const { deadLetters } = await run.fairlane.admin.deadLetters(topic, { limit: 1 });
  if (deadLetters.length === 0) return { count: 0, atLeast: false };
  try {
    const { messages, atLeast = false } = await run.fairlane.admin.getTopic(deadLetterTopicOf(topic));
    return { count: messages, atLeast };
  } catch (error) {
    if (error instanceof FairlaneApiError && error.code === "not-found") return { count: 0, atLeast: false };
    throw error;
  }
}
