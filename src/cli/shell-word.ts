import { escapeLine } from "./escape.ts";

/**
 * A name as a shell takes it for one word, for commands that are shown to be copied; null where a terminal cannot show
 * it as it is.
 */
export function shellWord(text: string): string | null {
  if (escapeLine(text) !== text) return null;
  return /^[\w@%+=:,./-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`;
}
