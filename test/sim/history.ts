import type { CommandInput, CommandName, CommandValue } from "../../src/durable/engine.ts";
import type { Outcome } from "../../src/protocol/tenant-calls.ts";
import type { Filter } from "../../src/splitting/filter/filter.ts";

/**
 * What was seen of one tenant from outside: calls with their answers, rows of the log, the numbers that the
 * object drew for its deliveries, and its clock. `seq` orders everything: an instant of the history.
 */
export interface Call<N extends CommandName = CommandName> {
  readonly name: N;
  readonly input: CommandInput<N>;
  /** The command began then: not before, it took effect. */
  readonly startSeq: number;
  readonly startClockMs: number;
  /** Answered, or the object was gone: not after, it took effect. null while under way. */
  endSeq: number | null;
  endClockMs: number;
  /** null: under way, or it went with its object (then it may or may not have taken effect). */
  outcome: Outcome<CommandValue<N>> | null;
  /** A publish that was answered although dispatch had not heard of it in time: it promises no order. */
  unordered?: boolean;
}

/** A nonce drawn for a grant whose transaction was committed. */
export interface GrantNote {
  nonce: string;
  seq: number;
  clockMs: number;
  /** By the log's clock. */
  logClockMs: number;
  /** "" when the rows did not tell. */
  topic: string;
  group: string;
  /** A reply named it. */
  answered: boolean;
  /** Nobody got it: the edge gave it back, surely before it could lapse, or perhaps. */
  returned: "surely" | "perhaps" | "no";
  /** Place of the routes that lived then in `routeTables`. */
  table: number;
}

export interface RouteFact {
  routeId: number;
  route: string;
  filter: Filter;
}

/** The routes that lived from an instant on, by group. */
export interface RouteTable extends Moment {
  groups: ReadonlyMap<string, readonly RouteFact[]>;
  /** The object was lost, and all routes with it. */
  isLoss: boolean;
}

/** One save of a group's progress in a log outside the object. */
export interface Checkpoint {
  topic: string;
  group: string;
  /** null: under way, or its object went. */
  end: Moment | null;
  ok: boolean;
}

/** An instant at which something happened. */
export interface Moment {
  seq: number;
  clockMs: number;
}

export interface LogRow {
  topic: string;
  offset: number;
  partitionKey: string;
  id: string;
  origin: string;
  targetGroup: string | null;
  publishedAtMs: number;
  dueAtMs: number;
  contentType: string | null;
  headers: string;
  deadLetter: {
    originalTopic: string;
    originalId: string;
    group: string;
    failedAtMs: number;
    attempts: number;
    reason: string;
  } | null;
  body: string | Uint8Array;
  /** It was there at `appearedSeq` and not at the look before, which was after `notBeforeSeq`. */
  notBeforeSeq: number;
  appearedSeq: number;
  /** The object's clock when it was seen first. */
  appearedClockMs: number;
  vanishedNotBeforeSeq: number | null;
  vanishedSeq: number | null;
  /** The clocks when it was seen gone: the object's, and the log's. */
  vanishedClockMs: number;
  vanishedLogClockMs: number;
}

interface Jump {
  seq: number;
  beforeMs: number;
  afterMs: number;
}

export interface Violation {
  guarantee: string;
  detail: string;
}

export class History {
  readonly tenant: string;
  readonly calls: Call[] = [];
  private readonly byName = new Map<CommandName, Call[]>();
  readonly grants: GrantNote[] = [];
  readonly rows: LogRow[] = [];
  readonly violations: Violation[] = [];
  readonly jumps: Jump[] = [];
  /** Of the log's clock; the same where it is the object's. */
  readonly logJumps: Jump[];
  readonly checkpoints: Checkpoint[] = [];
  /** The first is of before there was any route. */
  readonly routeTables: RouteTable[] = [{ seq: 0, clockMs: 0, groups: new Map(), isLoss: false }];
  /** The object was gone with its storage; gone with its memory; a call to the log failed. */
  readonly losses: Moment[] = [];
  readonly crashes: Moment[] = [];
  readonly logFailures: Moment[] = [];
  /** Times at which a storage statement failed although the object lived on. */
  readonly storageFailureSeqs: number[] = [];
  private readonly nextSeq: () => number;
  private readonly nowMs: () => number;
  private readonly logNowMs: () => number;

  /** `logNowMs`: the clock of a log outside the object; null where the object holds it. */
  constructor(
    tenant: string,
    nextSeq: () => number,
    nowMs: () => number,
    logNowMs: (() => number) | null = null,
  ) {
    this.tenant = tenant;
    this.nextSeq = nextSeq;
    this.nowMs = nowMs;
    this.logNowMs = logNowMs ?? nowMs;
    this.logJumps = logNowMs ? [] : this.jumps;
  }

  seq(): number {
    return this.nextSeq();
  }

  clockMs(): number {
    return this.nowMs();
  }

  logClockMs(): number {
    return this.logNowMs();
  }

  moment(): Moment {
    return { seq: this.nextSeq(), clockMs: this.nowMs() };
  }

  violate(guarantee: string, detail: string): void {
    // One broken rule repeats itself; the first few say it.
    if (this.violations.length < 20) this.violations.push({ guarantee, detail: `${this.tenant}: ${detail}` });
  }

  started<N extends CommandName>(name: N, input: CommandInput<N>): Call<N> {
    const clockMs = this.nowMs();
    const call: Call<N> = {
      name,
      input,
      startSeq: this.nextSeq(),
      startClockMs: clockMs,
      endSeq: null,
      endClockMs: clockMs,
      outcome: null,
    };
    this.calls.push(call as unknown as Call);
    const alike = this.byName.get(name);
    if (alike) alike.push(call as unknown as Call);
    else this.byName.set(name, [call as unknown as Call]);
    return call;
  }

  ended<N extends CommandName>(call: Call<N>, outcome: Outcome<CommandValue<N>> | null): void {
    call.endSeq = this.nextSeq();
    call.endClockMs = this.nowMs();
    call.outcome = outcome;
  }

  jumped(beforeMs: number, afterMs: number): void {
    this.jumps.push({ seq: this.nextSeq(), beforeMs, afterMs });
  }

  logJumped(beforeMs: number, afterMs: number): void {
    this.logJumps.push({ seq: this.nextSeq(), beforeMs, afterMs });
  }

  of<N extends CommandName>(name: N): Call<N>[] {
    return (this.byName.get(name) ?? []) as unknown as Call<N>[];
  }

  /** Lowest reading of the clock during a call. */
  lowestClockMs(call: Call): number {
    let lowest = Math.min(call.startClockMs, call.endClockMs);
    const endSeq = call.endSeq ?? Number.POSITIVE_INFINITY;
    for (const { seq, afterMs } of this.jumps) {
      if (seq >= call.startSeq && seq <= endSeq) lowest = Math.min(lowest, afterMs);
    }
    return lowest;
  }

  /** Highest reading of the clock that there ever was up to `seq`, which had the reading `clockMs`. */
  highestClockMs(seq: number, clockMs: number): number {
    return highestOf(this.jumps, seq, clockMs);
  }

  /** The same of the log's clock. */
  highestLogClockMs(seq: number, logClockMs: number): number {
    return highestOf(this.logJumps, seq, logClockMs);
  }

  /**
   * Grants of the group between two instants that no reply told of. `returned`: those too that nobody got and that
   * were given back, which are no attempt.
   */
  lostGrants(
    topic: string,
    group: string,
    afterSeq: number,
    beforeSeq: number,
    returned: "with returned" | "that count",
  ): number {
    let count = 0;
    for (const grant of this.grants) {
      if (grant.returned === "surely" && returned === "that count") continue;
      if (grant.answered || grant.seq <= afterSeq || grant.seq >= beforeSeq) continue;
      if (grant.topic === "" || (grant.topic === topic && grant.group === group)) count += 1;
    }
    return count;
  }
}

function highestOf(jumps: readonly Jump[], seq: number, clockMs: number): number {
  let highest = clockMs;
  for (const jump of jumps) if (jump.seq <= seq) highest = Math.max(highest, jump.beforeMs, jump.afterMs);
  return highest;
}
