import { fail } from "../../core/failure.ts";
import type { AppendOutcome, NewMessage } from "../message-log.ts";
import type { Operation } from "./database.ts";
import { UNAVAILABLE_RETRY_MS } from "./database-failure.ts";
import { type MessageInsert, storedRange } from "./message-insert.ts";
import { offsetBefore } from "./statement.ts";

/**
 * A statement that took the database longer than this may have become visible after younger ones were read. Ordinary
 * ones take a few milliseconds, and dispatch looks back a little by itself.
 */
export const LATE_AFTER_MS = 20;
/** Each further round means that somebody else published the same offsets or IDs in between, or that one is gone. */
const MAX_ROUNDS = 6;

interface OffsetSpan {
  lowestOffset: number;
  highestOffset: number;
}

/**
 * Stores a batch by one plain INSERT, all or nothing. When an ID is stored already, one SELECT tells which are, and
 * one INSERT stores the rest. When an offset is taken (two batches met in time), the whole is sent again. After a lost
 * reply the rows of the first try are found as duplicates, and that is what the producer is told, as if it had tried
 * twice itself.
 */
export async function appendBatch(
  run: Operation,
  insert: MessageInsert,
  at: { topic: string; commitHorizonMs: number },
  messages: readonly NewMessage[],
): Promise<AppendOutcome> {
  const results = messages.map(() => ({ duplicate: true }));
  // Of two equal ones the second is a duplicate without asking.
  const pending = new Map<string, number>();
  for (const [place, message] of messages.entries()) {
    const name = nameOf(message);
    if (!pending.has(name)) pending.set(name, place);
  }
  let recent: OffsetSpan | null = null;
  let isLate = false;
  for (let round = 0; round < MAX_ROUNDS; round++) {
    if (pending.size === 0) return { results, stored: recent, late: isLate };
    const places = [...pending.values()];
    const batch = places.flatMap((place) => messages[place] ?? []);
    const outcome = await insert.append(run, at.topic, batch);
    if (outcome.kind === "stored") {
      for (const place of places) results[place] = { duplicate: false };
      const { tookMs, retries } = outcome.executed;
      isLate ||= tookMs > LATE_AFTER_MS || retries > 0;
      const range = storedRange(outcome.executed, batch.length);
      // Where the new ones lie is not known: then nothing narrower may be said.
      return { results, stored: range === null ? null : spanOf(recent, range), late: isLate };
    }
    isLate ||= outcome.retries > 0;
    let foundAny = false;
    // Twice in a row is rare, and may be a message that was read wrongly: then it is looked up as well.
    if (outcome.key !== "primary" || round > 0) {
      for (const found of await insert.findStored(run, at.topic, batch)) {
        // The database takes some different texts for equal; ours compares every one.
        if (!pending.delete(nameOf(found))) continue;
        foundAny = true;
        if (found.offset < offsetBefore(found.clock, at.commitHorizonMs)) continue;
        recent = spanOf(recent, { lowestOffset: found.offset, highestOffset: found.offset });
        isLate = true;
      }
    }
    if (!foundAny && !(await run.wait(round))) break;
  }
  return fail("store-unavailable", "the batch met others again and again", {
    retryAfterMs: UNAVAILABLE_RETRY_MS,
  });
}

/** A NUL is in no key and no ID. */
function nameOf(message: { partitionKey: string; id: string }): string {
  return `${message.partitionKey}\0${message.id}`;
}

function spanOf(known: OffsetSpan | null, more: OffsetSpan): OffsetSpan {
  if (known === null) return more;
  return {
    lowestOffset: Math.min(known.lowestOffset, more.lowestOffset),
    highestOffset: Math.max(known.highestOffset, more.highestOffset),
  };
}
