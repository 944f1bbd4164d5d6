/** Something is too large to be decided. Caught where a filter is parsed or compared, and nowhere else. */
export class BeyondLimit extends Error {
  override name = "BeyondLimit";
}

/** Counts work, so that every question ends soon, whatever is asked. */
export class Budget {
  readonly #steps: number;
  #left: number;

  constructor(steps: number) {
    this.#steps = steps;
    this.#left = steps;
  }

  get spent(): number {
    return this.#steps - this.#left;
  }

  /** Throws BeyondLimit. */
  spend(steps: number): void {
    this.#left -= steps;
    if (this.#left < 0) throw new BeyondLimit(`it takes more than ${this.#steps} steps`);
  }
}
