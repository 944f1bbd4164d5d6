/**
 * A statement that the log may send: its text with a `?` for each parameter. Every one names its tenant by
 * equality, so that it stays on one shard, and every one is bounded.
 */
export interface Statement {
  readonly name: string;
  readonly sql: string;
  /** Decides the deadline. */
  readonly access: "read" | "write";
  /** Running it twice leaves what running it once leaves: after a lost reply it may be sent again. */
  readonly isIdempotent: boolean;
}

/** The one place where statements come from: spaces of layout are dropped, nobody reads them on the wire. */
export function readStatement(name: string, sql: string): Statement {
  return { name, sql: dense(sql), access: "read", isIdempotent: true };
}

export function writeStatement(name: string, sql: string, effect: { isIdempotent: boolean }): Statement {
  return { name, sql: dense(sql), access: "write", isIdempotent: effect.isIdempotent };
}

function dense(sql: string): string {
  return sql.replaceAll(/\s+/g, " ").trim();
}

/** A statement whose text depends on a count; each size is built once. Sizes are bounded by the callers. */
export function sized(build: (size: number) => Statement): (size: number) => Statement {
  const built = new Map<number, Statement>();
  return (size) => {
    const known = built.get(size);
    if (known !== undefined) return known;
    const made = build(size);
    built.set(size, made);
    return made;
  };
}

/** `size` times `part`, with `separator` between. */
export function repeated(part: string, size: number, separator = ", "): string {
  return Array.from({ length: size }, () => part).join(separator);
}

/**
 * The database's clock in microseconds since 2020-01-01 UTC, the unit of offsets; one value throughout a statement,
 * taken before it reads anything. It stands only in statements that read or write a table: Vitess may answer one
 * that names no table from the clock of a router.
 */
export const CLOCK = "timestampdiff(microsecond, '2020-01-01', utc_timestamp(6))";
const OFFSET_EPOCH_MS = Date.UTC(2020, 0, 1);
/** The same instant in milliseconds since the epoch. */
export const CLOCK_MS = `(${OFFSET_EPOCH_MS} + ${CLOCK} DIV 1000)`;

/** Milliseconds since the epoch, of a value of CLOCK. */
export function clockMs(clock: number): number {
  return OFFSET_EPOCH_MS + Math.floor(clock / 1000);
}

/** The lowest offset that was given less than `ms` before `clock`, roughly: offsets are clock values. */
export function offsetBefore(clock: number, ms: number): number {
  return clock - ms * 1000;
}
