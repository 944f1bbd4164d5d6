/**
 * Which offsets were shown. With a database a smaller offset may become visible after a larger one was read: each look
 * reads the last stretch once more, and shows what is new in it.
 */

/** Offsets are microseconds of the log's clock: a publish takes no longer than this, but for rare ones. */
const OVERLAP = 10_000_000;
/** Read once more in one look, and remembered, at most: two pages. */
const MAX_REMEMBERED = 200;

export class SeenOffsets {
  /** Ascending. */
  readonly #offsets: number[] = [];
  /** Nothing at or below it is looked at any more. */
  #floor = 0;

  /** @param shown what is there at the beginning, ascending: nothing before it counts as new */
  constructor(shown: readonly number[]) {
    const [first] = shown;
    if (first !== undefined) this.#floor = first - 1;
    for (const offset of shown) this.add(offset);
  }

  /** Where the next look begins: it reads what is behind this offset. */
  get readFrom(): number {
    return this.#floor;
  }

  /** Remembers it. false: it was shown already, or is too far back to tell. */
  add(offset: number): boolean {
    if (offset <= this.#floor) return false;
    let at = this.#offsets.length;
    while (at > 0 && (this.#offsets[at - 1] as number) > offset) at -= 1;
    if (this.#offsets[at - 1] === offset) return false;
    this.#offsets.splice(at, 0, offset);
    this.#forget();
    return true;
  }

  #forget(): void {
    const highest = this.#offsets.at(-1) ?? 0;
    while (
      this.#offsets.length > MAX_REMEMBERED ||
      (this.#offsets.length > 1 && (this.#offsets[0] as number) < highest - OVERLAP)
    ) {
      this.#floor = this.#offsets.shift() as number;
    }
  }
}
