import { DEAD_LETTER_SUFFIX } from "../core/limits.ts";
import { isDeadLetterTopic } from "../core/settings.ts";
import { usageError } from "./cli-error.ts";
import type { Run } from "./run.ts";

/** The topic whose dead letters are asked for, where it is named by the one that keeps them. */
export function failedTopic(run: Run, topic: string): string {
  if (!isDeadLetterTopic(topic)) return topic;
  const failed = topic.slice(0, -DEAD_LETTER_SUFFIX.length);
  run.out.note(`the dead letters of topic ${failed} are listed under ${failed}`);
  return failed;
}

/** For what changes dead letters, which is not done to another topic than the one that was named. */
export function checkFailedTopic(command: string, topic: string): void {
  if (!isDeadLetterTopic(topic)) return;
  const failed = topic.slice(0, -DEAD_LETTER_SUFFIX.length);
  throw usageError(
    `${topic} keeps the dead letters of topic ${failed}: name that one`,
    `fairlane ${command} ${failed}`,
  );
}
