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
/** Publishes that may wait for their commit: memory of the object. */
const MAX_PENDING = 2000;

/**
 * Publishes that arrive in the same turn share a commit. Each batch is all or nothing by itself: the log
 * checks before it writes, so a refused batch leaves nothing; when the commit fails all of them fail.
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
    const outcomes = this.append(batch);
    for (const [at, { resolve, reject }] of batch.entries()) {
      const outcome = outcomes[at];
      if (outcome && "value" in outcome) resolve(outcome.value);
      else reject(outcome?.error);
    }
    const topics = new Set<string>();
    for (const [at, { input }] of batch.entries()) {
      const outcome = outcomes[at];
      if (outcome && "value" in outcome && outcome.value.stored) topics.add(input.topic);
    }
    for (const topic of topics) this.tenant.wake.topicGrew(topic);
  }

  private append(batch: readonly Pending[]): ({ value: AppendOutcome } | { error: unknown })[] {
    const log = this.tenant.embedded;
    if (!log) return batch.map(() => ({ error: new Error("this object holds no log") }));
    try {
      return this.tenant.ports.sql.transaction(() =>
        batch.map(({ input }) => {
          try {
            return { value: log.appendBatch(input.topic, input.messages) };
          } catch (error) {
            // Refused before anything was written; anything else must undo the whole commit.
            if (error instanceof FairlaneError && error.failure.code === "rate-limited") return { error };
            throw error;
          }
        }),
      );
    } catch (error) {
      return batch.map(() => ({ error }));
    }
  }
}
