/** What a topic's name may consist of, in the order in which names are sorted. */
const CHARACTERS = "-.0123456789_abcdefghijklmnopqrstuvwxyz";
const LAST = "z";
const MAX_TOPIC_CHARS = 124;
const NAME_START = /^[a-z0-9][a-z0-9._-]*$/;

/**
 * A name that is sorted before `start` with no possible name of a topic between, so that a page behind it begins with
 * the topics whose names begin like that. null: every page does. undefined: no topic's name begins like that.
 */
export function justBefore(start: string): string | null | undefined {
  if (!NAME_START.test(start) || start.length > MAX_TOPIC_CHARS) return undefined;
  const head = start.slice(0, -1);
  const lower = CHARACTERS[CHARACTERS.indexOf(start.slice(-1)) - 1];
  // Nothing of the same length comes before; what it begins with does.
  if (lower === undefined) return head;
  if (head === "" && !NAME_START.test(lower)) return lower === "_" ? "9".padEnd(MAX_TOPIC_CHARS, LAST) : null;
  return (head + lower).padEnd(MAX_TOPIC_CHARS, LAST);
}
