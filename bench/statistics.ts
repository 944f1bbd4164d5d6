/** Nearest rank: the smallest sample with at least `part` (0 to 1) of all at or below it. Throws without samples. */
export function percentile(samples: readonly number[], part: number): number {
  if (!(part >= 0 && part <= 1)) throw new RangeError(`${part} is not a part from 0 to 1`);
  const sorted = Float64Array.from(samples).sort();
  const found = sorted[Math.max(0, Math.ceil(part * sorted.length) - 1)];
  if (found === undefined) throw new RangeError("no samples");
  return found;
}

/** The middle sample, or the mean of the two in the middle. Throws without samples. */
export function median(samples: readonly number[]): number {
  const sorted = Float64Array.from(samples).sort();
  const upper = sorted[sorted.length >> 1];
  if (upper === undefined) throw new RangeError("no samples");
  if (sorted.length % 2 === 1) return upper;
  return ((sorted[(sorted.length >> 1) - 1] as number) + upper) / 2;
}

export function ratioOfMedians(samples: readonly number[], base: readonly number[]): number {
  const below = median(base);
  if (below === 0) throw new RangeError("the base of the ratio is 0");
  return median(samples) / below;
}

/** To so many digits that count; a figure for people needs no more. */
export function rounded(value: number, digits: number): number {
  return Number(value.toPrecision(digits));
}
