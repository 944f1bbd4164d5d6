import { MIN_VISIBILITY_TIMEOUT_MS } from "../../src/core/limits.ts";
import type { GroupSettings } from "../../src/core/settings.ts";
import type { DeliveryView, Settlement, SettleResult } from "../../src/protocol/tenant-calls.ts";
import { NONCE } from "./grant-notes.ts";
import type { Call, GrantNote, History, LogRow } from "./history.ts";
import { APPLICATION, Parties } from "./parties.ts";
import type { GroupPlan, Profile } from "./profile.ts";

/** One delivery as a reply told of it, with when it was decided. */
export interface Delivery {
  view: DeliveryView;
  row: LogRow;
  /** When the object drew its nonce: the instant of the grant. */
  seq: number;
  clockMs: number;
  logClockMs: number;
  subscriber: string;
  /** Place in the reply. */
  place: number;
  /** Place of the routes that lived then in the history. */
  table: number;
  /** The route that the subscriber was attached to; 0: none. */
  routeId: number;
}

/** One settlement of one delivery. `status` null: the outcome is not known. */
export interface Settled {
  settlement: Settlement;
  call: Call<"settle">;
  status: SettleResult["status"] | null;
  deadLettered: boolean;
}

/** An admin call that may have ended deliveries or messages of the group. */
interface Interference {
  call: Call;
  touches(row: LogRow): boolean;
}

/** What one group did, by message. */
export interface GroupAudit {
  topic: string;
  group: string;
  settings: GroupSettings;
  subscribers: number;
  /** It was deleted at some time: only what holds of any two deliveries is checked. */
  loose: boolean;
  deliveries: Map<LogRow, Delivery[]>;
  parties: Parties;
  /** Rows of the topic. */
  rows: LogRow[];
  copies: LogRow[];
  interferences: Interference[];
  /** Before: not made yet; after: there. */
  madeAfterSeq: number;
  madeBySeq: number;
}

export const ENDLESS = Number.POSITIVE_INFINITY;

/** The history, sorted for the questions that the checks ask. Knows nothing of how the product decides. */
export class AuditModel {
  readonly history: History;
  readonly profile: Profile;
  readonly groups: GroupAudit[];
  private readonly settledBy = new Map<string, Settled[]>();
  private readonly notes: Map<string, GrantNote>;

  constructor(history: History, profile: Profile) {
    this.history = history;
    this.profile = profile;
    this.notes = new Map(history.grants.map((note) => [note.nonce, note]));
    for (const call of history.of("settle")) this.addSettlements(call);
    for (const call of history.of("reportReads")) this.noteReturns(call);
    this.groups = profile.groups.map((plan) => this.groupOf(plan));
  }

  settlements(receipt: string): readonly Settled[] {
    return this.settledBy.get(receipt) ?? [];
  }

  /** Grants of the group in the interval that no reply told of, and that count as attempts. */
  lost(group: GroupAudit, afterSeq: number, beforeSeq: number): number {
    return this.history.lostGrants(group.topic, group.group, afterSeq, beforeSeq, "that count");
  }

  /** May a message of the group have been in flight in the interval without anybody knowing? */
  mayHaveBeenInFlight(group: GroupAudit, afterSeq: number, beforeSeq: number): boolean {
    return this.history.lostGrants(group.topic, group.group, afterSeq, beforeSeq, "with returned") > 0;
  }

  /** May a delivery of the group have been given back in the interval by the edge, which could not read it? */
  mayHaveBeenReturned(group: GroupAudit, afterSeq: number, beforeSeq: number): boolean {
    return this.history.grants.some(
      ({ returned, seq, topic, group: name }) =>
        returned !== "no" &&
        seq > afterSeq &&
        seq < beforeSeq &&
        topic === group.topic &&
        name === group.group,
    );
  }

  /** Was something done to the row by an admin, or may have been, in the interval? */
  interfered(group: GroupAudit, row: LogRow, afterSeq: number, beforeSeq: number): boolean {
    return group.interferences.some(
      ({ call, touches }) => call.startSeq < beforeSeq && this.effectEndSeq(call) > afterSeq && touches(row),
    );
  }

  /** What was sent to a log outside takes effect even after its sender gave up, or was gone. */
  effectEndSeq({ endSeq, outcome }: Pick<Call, "endSeq" | "outcome">): number {
    if (this.profile.lateness && !outcome?.ok) return ENDLESS;
    return endSeq ?? ENDLESS;
  }

  /** Was the message too old at some reading of the clock? A log's own clock differs by less than any age. */
  mayHaveExpired(row: LogRow, seq: number, clockMs: number): boolean {
    return this.history.highestClockMs(seq, clockMs) >= row.dueAtMs + this.profile.maxRetentionMs;
  }

  /** Does the group get the message at all? */
  covers(group: GroupAudit, row: LogRow): "yes" | "no" | "maybe" {
    if (row.targetGroup !== null) return row.targetGroup === group.group ? "yes" : "no";
    if (group.settings.startFrom === "earliest") return "yes";
    if (row.appearedSeq < group.madeAfterSeq) return "no";
    // It may have got its offset when it was sent, long before it appeared.
    const sentSeq = row.origin === "" ? Math.min(row.notBeforeSeq, this.sentSeq(row)) : row.notBeforeSeq;
    // What is published below the group's start after the clock stepped back counts as there before it.
    const steppedBack = this.history.logJumps.some(
      ({ beforeMs, afterMs }) => afterMs < beforeMs && beforeMs > row.publishedAtMs,
    );
    return sentSeq > group.madeBySeq && !(this.profile.lateness && steppedBack) ? "yes" : "maybe";
  }

  /** When a message of its name was first sent since the one before it was there. */
  private sentSeq(row: LogRow): number {
    let sentSeq = ENDLESS;
    for (const { input, startSeq } of this.history.of("publish")) {
      if (input.topic !== row.topic || startSeq >= sentSeq) continue;
      if (input.messages.some(({ id, partitionKey }) => id === row.id && partitionKey === row.partitionKey))
        sentSeq = startSeq;
    }
    return sentSeq;
  }

  /** What may have ended the delivery without an attempt: its subscriber left, it was given back, its route expired. */
  givenBack(group: GroupAudit, delivery: Delivery, beforeSeq: number): boolean {
    const { history } = this;
    if ((group.parties.endOf(delivery, beforeSeq)?.byExpiry ?? "no") !== "no") return true;
    const left = history
      .of("leave")
      .some(
        ({ input, startSeq, endSeq }) =>
          input.subscriber === delivery.subscriber &&
          input.topic === group.topic &&
          input.group === group.group &&
          startSeq < beforeSeq &&
          (endSeq ?? ENDLESS) > delivery.seq,
      );
    return (
      left ||
      history
        .of("giveBack")
        .some(({ input, startSeq }) => startSeq < beforeSeq && input.receipts.includes(delivery.view.receipt))
    );
  }

  /** Lowest instant at which the delivery's visibility may have ended. */
  visibleUntilMs(delivery: Delivery, beforeSeq: number): number {
    const extended: number[] = [];
    let certain = false;
    for (const { settlement, call, status } of this.settlements(delivery.view.receipt)) {
      if (settlement.action !== "extend" || call.startSeq >= beforeSeq) continue;
      if (status !== "ok" && status !== null) continue;
      extended.push(this.history.lowestClockMs(call as unknown as Call) + settlement.visibilityTimeoutMs);
      if (status === "ok") certain = true;
    }
    return Math.min(...extended, ...(certain ? [] : [delivery.view.visibleUntil]));
  }

  /** May a failed last attempt have decided the message's fate before `seq`? */
  mayHaveFailed(group: GroupAudit, row: LogRow, seq: number, clockMs: number): boolean {
    const { maxAttempts } = group.settings;
    const highestMs = this.history.highestClockMs(seq, clockMs);
    let first = 0;
    for (const delivery of group.deliveries.get(row) ?? []) {
      if (delivery.seq >= seq) break;
      first = delivery.seq;
      for (const { settlement, call, status } of this.settlements(delivery.view.receipt)) {
        if (call.startSeq >= seq || (status !== "ok" && status !== null)) continue;
        if (settlement.action === "reject") return true;
        if (settlement.action === "nack" && delivery.view.attempt >= maxAttempts) return true;
      }
      const lost = this.lost(group, delivery.seq, seq);
      // How long a grant lasted that nobody saw is not known.
      if (lost > 0 && delivery.view.attempt + lost >= maxAttempts) return true;
      if (delivery.view.attempt >= maxAttempts && highestMs >= this.visibleUntilMs(delivery, seq))
        return true;
    }
    return this.lost(group, first, seq) >= maxAttempts;
  }

  /** May the message be settled for the group at `seq`? */
  maySettled(group: GroupAudit, row: LogRow, seq: number, clockMs: number): boolean {
    for (const delivery of group.deliveries.get(row) ?? []) {
      for (const { settlement, call, status } of this.settlements(delivery.view.receipt)) {
        if (call.startSeq >= seq) continue;
        if (status === "settled") return true;
        if (settlement.action === "ack" && (status === "ok" || status === null)) return true;
      }
    }
    return (
      this.covers(group, row) !== "yes" ||
      this.mayHaveFailed(group, row, seq, clockMs) ||
      this.interfered(group, row, row.notBeforeSeq, seq) ||
      this.wasPassedByReset(group, row, seq) ||
      this.mayHaveExpired(row, seq, clockMs)
    );
  }

  /** A message may appear below where its partition was reset to before: then it counts as settled. */
  private wasPassedByReset({ topic, group }: GroupAudit, row: LogRow, seq: number): boolean {
    return this.history.of("resetOffset").some(({ input, startSeq }) => {
      const isOurs =
        input.topic === topic && input.group === group && input.partitionKey === row.partitionKey;
      return isOurs && startSeq < seq && input.offset >= row.offset;
    });
  }

  describe(group: GroupAudit, row: LogRow): string {
    return `${group.topic}/${group.group} message ${row.id} (offset ${row.offset}, key ${row.partitionKey.slice(0, 20)})`;
  }

  private noteReturns({ input, outcome, endClockMs }: Call<"reportReads">): void {
    for (const receipt of [...input.unreachable, ...input.unreadable]) {
      const note = this.notes.get(NONCE.exec(receipt)?.[1] ?? "");
      if (!note) continue;
      const lastedMs = endClockMs - note.clockMs;
      const surely = outcome?.ok && lastedMs >= 0 && lastedMs < MIN_VISIBILITY_TIMEOUT_MS;
      if (surely) note.returned = "surely";
      else if (note.returned === "no") note.returned = "perhaps";
    }
  }

  private addSettlements(call: Call<"settle">): void {
    const { outcome } = call;
    for (const [at, settlement] of call.input.settlements.entries()) {
      const result = outcome?.ok ? outcome.value[at] : undefined;
      // A failed call may have failed after it took effect.
      const settled = {
        settlement,
        call,
        status: result?.status ?? null,
        deadLettered: result?.deadLettered ?? false,
      };
      const known = this.settledBy.get(settlement.receipt);
      if (known) known.push(settled);
      else this.settledBy.set(settlement.receipt, [settled]);
    }
  }

  private groupOf(plan: GroupPlan): GroupAudit {
    const { topic, group, subscribers } = plan;
    const { history } = this;
    // On a dead-letter topic attempts have no limit and failures make no further dead letters.
    const ofDeadLetters = originalOf(topic) !== null;
    const settings = ofDeadLetters
      ? { ...plan.settings, maxAttempts: ENDLESS, deadLetters: false }
      : plan.settings;
    const made = history.of("putGroup").filter(({ input }) => input.topic === topic && input.group === group);
    const rows = history.rows.filter((row) => row.topic === topic);
    const audit: GroupAudit = {
      topic,
      group,
      settings,
      subscribers,
      loose: history.of("deleteGroup").some(({ input }) => input.topic === topic && input.group === group),
      deliveries: new Map(),
      parties: new Parties(history, topic, group),
      rows,
      copies: history.rows.filter(
        ({ deadLetter }) => deadLetter?.originalTopic === topic && deadLetter.group === group,
      ),
      interferences: this.interferencesOf(topic, group),
      madeAfterSeq: Math.min(...made.map(({ startSeq }) => startSeq)),
      madeBySeq: Math.min(
        ...made.map(({ outcome, endSeq }) => (outcome?.ok ? (endSeq ?? ENDLESS) : ENDLESS)),
      ),
    };
    const byOffset = new Map(rows.map((row) => [row.offset, row]));
    for (const call of history.of("take")) {
      if (call.input.topic === topic && call.input.group === group) this.addDeliveries(audit, call, byOffset);
    }
    for (const deliveries of audit.deliveries.values()) deliveries.sort((a, b) => a.seq - b.seq);
    return audit;
  }

  private addDeliveries(audit: GroupAudit, call: Call<"take">, byOffset: ReadonlyMap<number, LogRow>): void {
    if (!call.outcome?.ok) return;
    for (const [place, view] of call.outcome.value.deliveries.entries()) {
      const note = this.notes.get(NONCE.exec(view.receipt)?.[1] ?? "");
      const row = byOffset.get(view.offset);
      if (!note || !row) {
        this.history.violate(
          "G12",
          `a delivery names offset ${view.offset}, which the log never held, or no grant`,
        );
        continue;
      }
      note.answered = true;
      const { table } = note;
      const routeId = audit.parties.idOf(table, call.input.route);
      if (routeId === null)
        this.history.violate(
          "split",
          `offset ${view.offset} was granted on route ${call.input.route}, which had ended`,
        );
      const delivery = {
        view,
        row,
        seq: note.seq,
        clockMs: note.clockMs,
        logClockMs: note.logClockMs,
        subscriber: call.input.subscriber,
        place,
        table,
        routeId: routeId ?? APPLICATION,
      };
      const known = audit.deliveries.get(row);
      if (known) known.push(delivery);
      else audit.deliveries.set(row, [delivery]);
    }
  }

  private interferencesOf(topic: string, group: string): Interference[] {
    const { history } = this;
    const ours = (input: { topic: string; group: string }) => input.topic === topic && input.group === group;
    const found: Interference[] = [];
    const add = (call: unknown, touches: (row: LogRow) => boolean) =>
      found.push({ call: call as Call, touches });
    for (const call of history.of("resetOffset")) {
      if (ours(call.input)) add(call, (row) => row.partitionKey === call.input.partitionKey);
    }
    for (const call of history.of("deleteGroup")) if (ours(call.input)) add(call, () => true);
    for (const call of history.of("purgeMessages")) {
      if (call.input.topic === topic) add(call, (row) => row.appearedSeq < (call.endSeq ?? ENDLESS));
    }
    for (const call of history.of("deleteMessage")) {
      const { id, partitionKey } = call.input;
      if (call.input.topic === topic) add(call, (row) => row.id === id && row.partitionKey === partitionKey);
    }
    const original = originalOf(topic);
    for (const name of ["redrive", "purgeDeadLetters"] as const) {
      for (const call of history.of(name)) if (call.input.topic === original) add(call, () => true);
    }
    return found;
  }
}

/** The topic whose dead letters this one holds; null for an ordinary topic. */
function originalOf(topic: string): string | null {
  return topic.endsWith("_dlq") ? topic.slice(0, -"_dlq".length) : null;
}
