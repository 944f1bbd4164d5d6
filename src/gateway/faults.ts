import type { WireError } from "./wire-error.ts";

/**
 * What goes wrong with a statement.
 * - `errorBefore`: it is not run; `error` is its reply, with this HTTP status (default 200, as failed statements have).
 * - `errorAfter`: it is run and, outside a transaction, committed; then the connection is reset instead of a reply.
 * - `delay`: it waits before it is run, or its reply does, or both.
 * - `drop`: it is not run, and not answered until the client goes.
 * - `refuse`: the connection is reset, and it is not run.
 */
export type Fault =
  | { kind: "errorBefore"; error?: WireError; httpStatus?: number }
  | { kind: "errorAfter" }
  | { kind: "delay"; beforeMs?: number; afterMs?: number }
  | { kind: "drop" }
  | { kind: "refuse" };

export type FaultRule = Fault & {
  /** Only statements that hold it as a quoted literal. */
  tenant?: string;
  /** Only statements that match. */
  matching?: RegExp;
  /** Only so many statements, then never again. */
  times?: number;
};

export interface PlacedFault {
  /** Statements that it met. */
  readonly hits: number;
  remove(): void;
}

interface Entry {
  rule: FaultRule;
  hits: number;
}

/** Rules for what goes wrong, for tests. The first that fits a statement is the only one that it meets. */
export class Faults {
  readonly #entries: Entry[] = [];

  /** Behind those that are there. */
  add(rule: FaultRule): PlacedFault {
    // A pattern with memory would meet every other statement.
    if (rule.matching?.global || rule.matching?.sticky) throw new TypeError("matching must not be g or y");
    const entry: Entry = { rule, hits: 0 };
    this.#entries.push(entry);
    return {
      get hits() {
        return entry.hits;
      },
      remove: () => {
        const at = this.#entries.indexOf(entry);
        if (at >= 0) this.#entries.splice(at, 1);
      },
    };
  }

  clear(): void {
    this.#entries.length = 0;
  }

  /** The fault that this statement meets now; counts it. */
  take(sql: string): Fault | null {
    const entry = this.#entries.find(({ rule, hits }) => hits < (rule.times ?? Infinity) && fits(rule, sql));
    if (!entry) return null;
    entry.hits++;
    return entry.rule;
  }
}

function fits(rule: FaultRule, sql: string): boolean {
  if (rule.tenant !== undefined && !sql.includes(`'${rule.tenant}'`)) return false;
  return rule.matching === undefined || rule.matching.test(sql);
}
