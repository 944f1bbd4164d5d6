import { FairlaneError, fail } from "../core/failure.ts";
import type { MessageLog, StoredMessage } from "../log/message-log.ts";
import type { DeliveryView, GrantView } from "../protocol/tenant-calls.ts";
import { type After, beforeDeadline, DeadlinePassed } from "./http/deadline.ts";
import { errorFields, logLine } from "./log-line.ts";

/** The log of each tenant, where it is outside the tenant object. */
export type OutsideLogs = (tenant: string) => MessageLog;

/** All reads for one receive together. */
export const READ_DEADLINE_MS = 10_000;
/** Below every message's: a read of it shows whether the log can be read at all. */
const NO_OFFSET = 0;

export interface GrantReads {
  /** In the order of their grants. */
  deliveries: DeliveryView[];
  /** Receipts of what the log no longer has. */
  missing: string[];
  /** Receipts of what cannot be read while other reads succeed. */
  unreadable: string[];
}

interface TopicPlace {
  tenant: string;
  topic: string;
}

type Read = (offsets: readonly number[]) => Promise<StoredMessage[]>;

/** Reads messages from logs that are outside the tenant objects. */
export class MessageReader {
  private readonly logOf: OutsideLogs;
  private readonly after: After;

  constructor(logOf: OutsideLogs, after: After) {
    this.logOf = logOf;
    this.after = after;
  }

  /** null: the log has no message of this offset. Throws `store-unavailable` when it does not answer in time. */
  async readMessage(place: TopicPlace, offset: number): Promise<StoredMessage | null> {
    const [message] = await this.inTime(this.readOf(place)([offset]));
    return message ?? null;
  }

  /**
   * Reads the messages of a take's grants in one round trip; one by one when one of them spoils that read. Throws
   * `store-unavailable` when the log cannot be read: that says nothing of any message.
   */
  async readGrants(place: TopicPlace, grants: readonly GrantView[]): Promise<GrantReads> {
    const { messages, unreadable } = await this.inTime(readAll(this.readOf(place), grants));
    const byOffset = new Map(messages.map((message) => [message.offset, message]));
    const reads: GrantReads = { deliveries: [], missing: [], unreadable };
    for (const grant of grants) {
      const message = byOffset.get(grant.offset);
      if (message) reads.deliveries.push(deliveryOf(grant, message));
      else if (!unreadable.includes(grant.receipt)) reads.missing.push(grant.receipt);
    }
    return reads;
  }

  private readOf({ tenant, topic }: TopicPlace): Read {
    const log = this.logOf(tenant);
    return (offsets) => log.readMessages(topic, offsets);
  }

  private async inTime<T>(work: Promise<T>): Promise<T> {
    try {
      return await beforeDeadline(work, READ_DEADLINE_MS, this.after);
    } catch (error) {
      if (error instanceof DeadlinePassed)
        fail("store-unavailable", "the message log did not answer in time");
      throw error;
    }
  }
}

async function readAll(
  read: Read,
  grants: readonly GrantView[],
): Promise<{ messages: StoredMessage[]; unreadable: string[] }> {
  try {
    return { messages: await read(grants.map(({ offset }) => offset)), unreadable: [] };
  } catch (error) {
    if (isUnavailable(error)) throw error;
    logLine("error", "read-failed", { grants: grants.length, ...errorFields(error) });
  }
  const messages: StoredMessage[] = [];
  const unreadable: string[] = [];
  for (const { receipt, offset } of grants) {
    try {
      messages.push(...(await read([offset])));
    } catch (error) {
      if (isUnavailable(error)) throw error;
      unreadable.push(receipt);
    }
  }
  // With not one good read it may be the log, and no message's fault: they would all end as dead letters.
  if (unreadable.length === grants.length) await proveReadable(read);
  return { messages, unreadable };
}

async function proveReadable(read: Read): Promise<void> {
  try {
    await read([NO_OFFSET]);
  } catch {
    // Told already, of the reads before.
    fail("store-unavailable", "the message log cannot be read at the moment");
  }
}

/** The log could not be reached; nothing else is told by it. */
export function isUnavailable(error: unknown): boolean {
  return error instanceof FairlaneError && error.failure.code === "store-unavailable";
}

function deliveryOf(grant: GrantView, message: StoredMessage): DeliveryView {
  return {
    receipt: grant.receipt,
    id: message.id,
    partitionKey: grant.partitionKey,
    offset: grant.offset,
    attempt: grant.attempt,
    body: message.body,
    contentType: message.contentType,
    headers: message.headers,
    publishedAt: message.publishedAtMs,
    visibleUntil: grant.visibleUntil,
    leaseEpoch: grant.leaseEpoch,
    deadLetter: message.deadLetter,
  };
}
