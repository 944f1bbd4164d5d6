import { fail } from "../core/failure.ts";
import type { AppendOutcome } from "../log/message-log.ts";
import type { PublishInput } from "../protocol/tenant-calls.ts";
import { DELIVERY_WAIT_MS, type Hints } from "./hints.ts";
import { type After, beforeDeadline, DeadlinePassed } from "./http/deadline.ts";
import type { TenantCaller } from "./http/tenant-caller.ts";
import type { OutsideLogs } from "./message-reader.ts";

/** How a publish reaches the tenant's log. */
export interface PublishLog {
  append(tenant: string, input: PublishInput, waitUntil: WaitUntil): Promise<AppendOutcome>;
}

type WaitUntil = (work: Promise<unknown>) => void;

/** Within it a publish is answered, well or not. */
export const PUBLISH_DEADLINE_MS = 10_000;
/** Leaves time for a hint that is waited for, and for the reply. */
export const APPEND_DEADLINE_MS = PUBLISH_DEADLINE_MS - 2 * DELIVERY_WAIT_MS;

/** The log is the tenant object's own. */
export class ObjectPublish implements PublishLog {
  private readonly tenants: TenantCaller;

  constructor(tenants: TenantCaller) {
    this.tenants = tenants;
  }

  append(tenant: string, input: PublishInput): Promise<AppendOutcome> {
    return this.tenants.call(tenant, "publish", input);
  }
}

/** The log is outside the object: the Worker writes to it, and then tells the object. */
export class HintedPublish implements PublishLog {
  private readonly logOf: OutsideLogs;
  private readonly hints: Hints;
  private readonly after: After;

  constructor(logOf: OutsideLogs, hints: Hints, after: After) {
    this.logOf = logOf;
    this.hints = hints;
    this.after = after;
  }

  /** Throws `store-unavailable` when the log did not answer in time: then the outcome is unknown. */
  async append(
    tenant: string,
    { topic, messages }: PublishInput,
    waitUntil: WaitUntil,
  ): Promise<AppendOutcome> {
    const appended = this.logOf(tenant).append(topic, messages);
    const tell = (outcome: AppendOutcome) => this.tell({ tenant, topic, waitUntil }, outcome);
    let outcome: AppendOutcome;
    try {
      outcome = await beforeDeadline(appended, APPEND_DEADLINE_MS, this.after);
    } catch (error) {
      if (!(error instanceof DeadlinePassed)) throw error;
      // It may be stored yet. A failure now says nothing that the answer does not say.
      waitUntil(appended.then(tell, () => undefined));
      fail("store-unavailable", "the message log did not answer in time; the outcome is unknown");
    }
    await tell(outcome);
    return outcome;
  }

  private async tell(
    place: { tenant: string; topic: string; waitUntil: WaitUntil },
    outcome: AppendOutcome,
  ): Promise<void> {
    const { stored, late, results } = outcome;
    if (stored === null && results.every(({ duplicate }) => duplicate)) return;
    const offsets = stored && { lowest: stored.lowestOffset, highest: stored.highestOffset };
    if (late) await this.hints.hintAndWait(place, offsets);
    else this.hints.hint(place, offsets);
  }
}
