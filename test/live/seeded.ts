/** Chance that can be replayed: the same seed gives the same numbers. */
export interface Seeded {
  /** From 0 up to 1. */
  fraction(): number;
  /** An integer from `low` to `high`, both included. */
  between(low: number, high: number): number;
  pick<T>(values: readonly T[]): T;
}

/** mulberry32, a 32-bit generator that is good enough to shuffle test cases. */
export function seeded(seed: number): Seeded {
  let state = seed >>> 0;
  const fraction = () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let t = state;
    t = Math.imul(t ^ (t >>> 15), t | 1);
    t ^= t + Math.imul(t ^ (t >>> 7), t | 61);
    return ((t ^ (t >>> 14)) >>> 0) / 2 ** 32;
  };
  const between = (low: number, high: number) => low + Math.floor(fraction() * (high - low + 1));
  return { fraction, between, pick: (values) => values[between(0, values.length - 1)] as never };
}

/** From the environment variable, or a new one; printed so that a failure can be run again. */
export function seedFrom(name: string): number {
  const given = process.env[name];
  const seed = given === undefined ? Math.floor(Math.random() * 2 ** 32) : Number(given);
  if (!Number.isSafeInteger(seed)) throw new Error(`${name} must be an integer, not ${given}`);
  console.log(`${name}=${seed}`);
  return seed;
}
