/**
 * What others wrote, made safe for a terminal: characters that move the cursor, change colours, or reorder what
 * stands beside them are shown by their number. Meant for reading; it cannot be turned back.
 */

// Controls (C0, DEL, C1), marks and overrides of direction, line and paragraph separators, invisible characters that
// make two names look the same, tag characters, halves of surrogate pairs.
const UNSAFE =
  /[\p{Cc}\u00ad\u061c\u180e\u200b-\u200f\u2028-\u202e\u2060-\u2064\u2066-\u2069\ufeff\ufff9-\ufffb\u{e0000}-\u{e007f}]|\p{Cs}/gu;

const SHORT = new Map([
  ["\n", "\\n"],
  ["\r", "\\r"],
  ["\t", "\\t"],
  ["\0", "\\0"],
]);

function shown(character: string): string {
  const code = character.codePointAt(0) ?? 0;
  return (
    SHORT.get(character) ??
    (code < 0x100 ? `\\x${code.toString(16).padStart(2, "0")}` : `\\u{${code.toString(16)}}`)
  );
}

/** On one line: names, keys, IDs, reasons. */
export function escapeLine(text: string): string {
  return text.replace(UNSAFE, shown);
}

/** Several lines may stay several lines: bodies. */
export function escapeText(text: string): string {
  return text.replace(UNSAFE, (character) =>
    character === "\n" || character === "\t" ? character : shown(character),
  );
}

/**
 * A name or a cell of tab-separated values for a program: what would look like another cell or row, and what would drive
 * a terminal at the end of the pipe. Exact names are in the JSON.
 */
export function escapeCell(text: string): string {
  return text.replace(/\p{Cc}/gu, shown);
}
