import { FairlaneError, fail } from "../../core/failure.ts";
import type { DeadLetterCopy } from "../message-log.ts";
import { chunksOf } from "./chunks.ts";
import type { Executed, Inserted, Operation } from "./database.ts";
import { UNAVAILABLE_RETRY_MS } from "./database-failure.ts";
import type { MessageDelete } from "./message-delete.ts";
import type { MessageInsert } from "./message-insert.ts";

/** Messages copied by one statement. */
const MAX_COPIES_PER_STATEMENT = 100;
const MAX_ROUNDS = 6;

/** In order, with equal offsets (two failures of one message) in different parts: a statement tells copies by offset. */
function partsOf(copies: readonly DeadLetterCopy[]): DeadLetterCopy[][] {
  const parts: { offsets: Set<number>; copies: DeadLetterCopy[] }[] = [];
  for (const copy of copies) {
    let part = parts.find(
      ({ offsets }) => offsets.size < MAX_COPIES_PER_STATEMENT && !offsets.has(copy.offset),
    );
    if (!part) {
      part = { offsets: new Set(), copies: [] };
      parts.push(part);
    }
    part.offsets.add(copy.offset);
    part.copies.push(copy);
  }
  return parts.map((part) => part.copies);
}

/** Returns how many were copied now. */
export async function copyAll(
  begin: () => Operation,
  insert: MessageInsert,
  from: string,
  to: string,
  copies: readonly DeadLetterCopy[],
): Promise<number> {
  let copied = 0;
  const parts = partsOf(copies);
  for (let part = parts.shift(); part !== undefined; part = parts.shift()) {
    const copying = part;
    try {
      const run = begin();
      const { rowsAffected } = await untilStored(run, () => insert.copyToDeadLetters(run, from, to, copying));
      copied += rowsAffected;
    } catch (error) {
      // A hundred of the largest bodies may be more than the database moves at once.
      if (!isTooLarge(error) || copying.length === 1) throw error;
      const half = Math.ceil(copying.length / 2);
      parts.unshift(copying.slice(0, half), copying.slice(half));
    }
  }
  return copied;
}

/** Puts the letters at the tail of `to`, in order of their offsets, then removes them from `from`. */
export async function redriveAll(
  begin: () => Operation,
  tables: { insert: MessageInsert; remove: MessageDelete },
  from: string,
  to: string,
  letters: readonly { offset: number; group: string }[],
): Promise<number> {
  let redriven = 0;
  const parts = chunksOf(letters, MAX_COPIES_PER_STATEMENT).map(({ items }) => items);
  for (let part = parts.shift(); part !== undefined; part = parts.shift()) {
    const leaving = part;
    const run = begin();
    try {
      await untilStored(run, () => tables.insert.redrive(run, from, to, leaving));
    } catch (error) {
      if (!isTooLarge(error) || leaving.length === 1) throw error;
      const half = Math.ceil(leaving.length / 2);
      parts.unshift(leaving.slice(0, half), leaving.slice(half));
      continue;
    }
    const { rowsAffected, retries } = await tables.remove.deleteOffsets(
      run,
      from,
      leaving.map(({ offset }) => offset),
    );
    // The lost reply had the number; sent again, the statement finds nothing left.
    redriven += retries > 0 ? leaving.length : rowsAffected;
  }
  return redriven;
}

/** A collision means that another copier or publisher was faster: the next try leaves out what it made. */
async function untilStored(run: Operation, send: () => Promise<Inserted>): Promise<Executed> {
  for (let round = 0; round < MAX_ROUNDS; round++) {
    const outcome = await send();
    if (outcome.kind === "stored") return outcome.executed;
    if (!(await run.wait(round))) break;
  }
  return fail("store-unavailable", "the copies met others again and again", {
    retryAfterMs: UNAVAILABLE_RETRY_MS,
  });
}

function isTooLarge(error: unknown): boolean {
  return error instanceof FairlaneError && error.failure.code === "payload-too-large";
}
