import fc from "fast-check";

/**
 * The same cases for everyone unless asked otherwise: PROPERTY_SEED picks others, PROPERTY_FACTOR runs so many
 * times as many. A failure prints seed and path; with both in `fc.assert` it runs alone.
 */
const SEED = integerFrom("PROPERTY_SEED", 20_260_517);
const FACTOR = integerFrom("PROPERTY_FACTOR", 1);
const DEFAULT_RUNS = 300;

console.log(`PROPERTY_SEED=${SEED}`);

export function holds<Cases>(property: fc.IRawProperty<Cases, false>, runs = DEFAULT_RUNS): void {
  fc.assert(property, { seed: SEED, numRuns: runs * FACTOR });
}

function integerFrom(name: string, otherwise: number): number {
  const value = Number(process.env[name] ?? otherwise);
  if (!Number.isSafeInteger(value)) throw new Error(`${name} must be an integer, not ${process.env[name]}`);
  return value;
}
