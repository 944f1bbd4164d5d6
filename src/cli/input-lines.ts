/** One line of an input, without its end. `bytes` is null where it is longer than a line may be. */
export interface InputLine {
  number: number;
  bytes: Uint8Array | null;
}

const LINE_FEED = 0x0a;
const CARRIAGE_RETURN = 0x0d;

/**
 * The lines of a stream, those together that arrive together: whoever publishes them waits neither for a batch to fill
 * nor for the end. Of a line that is too long nothing is kept.
 */
export async function* inputLines(
  input: AsyncIterable<Buffer>,
  maxLineBytes: number,
): AsyncGenerator<InputLine[]> {
  let number = 0;
  let held: Buffer[] = [];
  let heldBytes = 0;
  const take = (part: Buffer) => {
    heldBytes += part.length;
    if (heldBytes <= maxLineBytes) held.push(part);
    else held = [];
  };
  const end = (): InputLine => {
    number += 1;
    const bytes = heldBytes > maxLineBytes ? null : withoutReturn(Buffer.concat(held));
    held = [];
    heldBytes = 0;
    return { number, bytes };
  };
  for await (const chunk of input) {
    const lines: InputLine[] = [];
    let from = 0;
    for (let at = chunk.indexOf(LINE_FEED); at >= 0; at = chunk.indexOf(LINE_FEED, from)) {
      take(chunk.subarray(from, at));
      lines.push(end());
      from = at + 1;
    }
    if (from < chunk.length) take(chunk.subarray(from));
    if (lines.length > 0) yield lines;
  }
  if (heldBytes > 0) yield [end()];
}

function withoutReturn(line: Buffer): Buffer {
  return line.at(-1) === CARRIAGE_RETURN ? line.subarray(0, -1) : line;
}
