import { assert } from "../core/assert.ts";
import { type Failure, FairlaneError } from "../core/failure.ts";
import type { AppendOutcome } from "../log/message-log.ts";
import type { PublishInput } from "../protocol/tenant-calls.ts";
import type { Tenant } from "./tenant.ts";

interface Pending {
  input: PublishInput;
  resolve: (outcome: AppendOutcome) => void;
  reject: (error: unknown) => void;
}

/** Bodies that one commit may hold, so that one turn of the object stays short. */
const MAX_COMMIT_MESSAGES = 2000;
/** Messages of one append: what the log takes at once. */
const MAX_APPEND_MESSAGES = 1000;
/** Publishes that may wait for their commit: memory of the object. */
const MAX_PENDING = 2000;

/**
 * Publishes that arrive in the same turn share a commit, and those to one topic an append. A batch is all or
 * nothing: the log refuses before it writes, and when the commit fails everything in it fails.
 */
export class PublishQueue {
  private readonly tenant: Tenant;
  private pending: Pending[] = [];
  private scheduled = false;

  constructor(tenant: Tenant) {
    this.tenant = tenant;
  }

  push(input: PublishInput): Promise<AppendOutcome> {
    if (this.pending.length >= MAX_PENDING) {
      const failure: Failure = {
        code: "rate-limited",
        detail: "too many publishes wait for this tenant",
        retryAfterMs: 1000,
      };
      return Promise.reject(new FairlaneError(failure));
    }
    return new Promise((resolve, reject) => {
      this.pending.push({ input, resolve, reject });
      this.schedule();
    });
  }

  private schedule(): void {
    if (this.scheduled) return;
    this.scheduled = true;
    this.tenant.ports.timers.after(0, () => {
      this.scheduled = false;
      this.commit();
    });
  }

  private commit(): void {
    const batch: Pending[] = [];
    let messages = 0;
    while (this.pending.length > 0 && messages < MAX_COMMIT_MESSAGES) {
      const next = this.pending.shift() as Pending;
      messages += next.input.messages.length;
      batch.push(next);
    }
    if (this.pending.length > 0) this.schedule();
    const appends = joined(batch);
    try {
      this.tenant.ports.sql.transaction(() => {
        for (const append of appends) this.append(append);
      });
    } catch (error) {
      for (const { reject } of batch) reject(error);
      return;
    }
    for (const append of appends) answer(append);
    for (const topic of new Set(appends.flatMap(({ topic, outcome }) => (outcome?.stored ? [topic] : [])))) {
      this.tenant.wake.topicGrew(topic);
    }
  }

  private append(append: Append): void {
    const log = this.tenant.embedded;
    assert(log !== null, "only an object that holds the log is published to");
    try {
      append.outcome = log.appendBatch(
        append.topic,
        append.parts.flatMap(({ input }) => input.messages),
      );
    } catch (error) {
      // Refused before anything was written; anything else must undo the whole commit.
      if (!(error instanceof FairlaneError) || error.failure.code !== "rate-limited") throw error;
      append.refusal = error;
    }
  }
}

/** Publishes to one topic as one append, in the order in which they came. */
interface Append {
  topic: string;
  parts: Pending[];
  messages: number;
  outcome: AppendOutcome | null;
  refusal: FairlaneError | null;
}

function joined(batch: readonly Pending[]): Append[] {
  const appends: Append[] = [];
  const open = new Map<string, Append>();
  for (const part of batch) {
    const { topic, messages } = part.input;
    let append = open.get(topic);
    if (!append || append.messages + messages.length > MAX_APPEND_MESSAGES) {
      append = { topic, parts: [], messages: 0, outcome: null, refusal: null };
      open.set(topic, append);
      appends.push(append);
    }
    append.parts.push(part);
    append.messages += messages.length;
  }
  return appends;
}

function answer({ parts, outcome, refusal }: Append): void {
  let at = 0;
  for (const { input, resolve, reject } of parts) {
    if (!outcome) {
      reject(refusal);
      continue;
    }
    const results = outcome.results.slice(at, at + input.messages.length);
    at += input.messages.length;
    const stored = results.some(({ duplicate }) => !duplicate) ? outcome.stored : null;
    resolve({ results, stored, late: false });
  }
}
