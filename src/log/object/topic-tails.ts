import { assert } from "../../core/assert.ts";
import { fail } from "../../core/failure.ts";
import { MAX_TOPICS_PER_TENANT } from "../../core/limits.ts";
import { offsetAtMs } from "../../core/offset-clock.ts";
import { defaultTopicSettings, isDeadLetterTopic } from "../../core/settings.ts";
import type { MessagesTable } from "./messages-table.ts";
import type { TopicsTable } from "./topics-table.ts";

/**
 * Hands out offsets: `max(last + 1, clock in microseconds)`.
 *
 * What is cached must be harmless if the caller's transaction rolls back. A tail that is too high is: it
 * leaves a gap. A topic row that was never committed is not: its messages would belong to no topic. So a
 * topic is cached only when its row was read in a turn that made no topic; transactions are synchronous,
 * hence over before the next microtask.
 */
export class TopicTails {
  private readonly topics: TopicsTable;
  private readonly messages: MessagesTable;
  private readonly tails = new Map<string, number>();
  private madeTopicThisTurn = false;

  constructor(topics: TopicsTable, messages: MessagesTable) {
    this.topics = topics;
    this.messages = messages;
  }

  /**
   * Makes the topic if it does not exist. Ordinary and dead-letter topics have a limit each, so that
   * neither can use up the other's; a dead letter of an existing topic is never refused.
   */
  open(topic: string, making: "within limits" | "always"): void {
    if (this.tails.has(topic)) return;
    if (this.topics.collectedOffset(topic) !== null) {
      if (!this.madeTopicThisTurn) this.tails.set(topic, this.highestGiven(topic));
      return;
    }
    if (making === "within limits") this.refuseAboveLimit(topic);
    this.topics.save(topic, defaultTopicSettings(topic));
    this.madeTopicThisTurn = true;
    queueMicrotask(() => {
      this.madeTopicThisTurn = false;
    });
  }

  /** The first of `count` consecutive offsets that nobody else gets. */
  give(topic: string, count: number, nowMs: number): number {
    const tail = this.tails.get(topic) ?? this.highestGiven(topic);
    const first = Math.max(tail + 1, offsetAtMs(nowMs));
    assert(Number.isSafeInteger(first + count), "offsets are used up");
    if (this.tails.has(topic)) this.tails.set(topic, first + count - 1);
    return first;
  }

  /** The highest offset ever given and kept, by the rows; 0 if none. */
  highestGiven(topic: string): number {
    return Math.max(this.topics.collectedOffset(topic) ?? 0, this.messages.highestOffset(topic) ?? 0);
  }

  private refuseAboveLimit(topic: string): void {
    const deadLetters = isDeadLetterTopic(topic);
    const alike = this.topics.list().filter((record) => isDeadLetterTopic(record.topic) === deadLetters);
    if (alike.length >= MAX_TOPICS_PER_TENANT) {
      fail("rate-limited", `the tenant has ${MAX_TOPICS_PER_TENANT} topics, the most it may have`);
    }
  }
}
