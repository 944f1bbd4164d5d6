import type { Delivery } from "./wire.ts";

/** What one group's subscribers saw and did, kept outside the server so that it can judge it. */
interface GroupRecord {
  strict: boolean;
  seen: Set<string>;
  /** Sent, whether or not an answer came. */
  ackSent: Set<string>;
  /** Answered `ok`. */
  acked: Map<string, Delivery>;
  /** Per partition: first attempts that were seen, by place in the partition. */
  firsts: Map<string, { place: number; grantedAtMs: number }[]>;
}

/**
 * The auditor of the kill test. It knows the accepted messages of each partition in their order of
 * publishing, and checks every delivery against them. Message IDs are `<partition>/<place>`.
 */
export class KillAudit {
  /** Accepted messages per partition; places 0 to n - 1. */
  readonly accepted = new Map<string, number>();
  readonly problems: string[] = [];
  #groups = new Map<string, GroupRecord>();
  #visibilityTimeoutMs: number;

  constructor(groups: { name: string; strict: boolean }[], visibilityTimeoutMs: number) {
    this.#visibilityTimeoutMs = visibilityTimeoutMs;
    for (const { name, strict } of groups) {
      const empty = {
        seen: new Set<string>(),
        ackSent: new Set<string>(),
        acked: new Map(),
        firsts: new Map(),
      };
      this.#groups.set(name, { strict, ...empty });
    }
  }

  published(partitionKey: string, count: number): void {
    this.accepted.set(partitionKey, (this.accepted.get(partitionKey) ?? 0) + count);
  }

  delivered(group: string, delivery: Delivery): void {
    const record = this.#record(group);
    const { id, partitionKey, attempt } = delivery;
    const confirmed = record.acked.get(id);
    if (confirmed) {
      this.problems.push(
        `${group}: ${id} came again (attempt ${attempt}) after attempt ${confirmed.attempt} was acked`,
      );
    }
    record.seen.add(id);
    const place = Number(id.slice(partitionKey.length + 1));
    if (record.strict) this.#checkStrict(group, record, partitionKey, place);
    if (attempt !== 1) return;
    // The server's own clock orders grants better than the arrival of replies at two subscribers.
    const grantedAtMs = delivery.visibleUntil - this.#visibilityTimeoutMs;
    const firsts = record.firsts.get(partitionKey) ?? [];
    firsts.push({ place, grantedAtMs });
    record.firsts.set(partitionKey, firsts);
  }

  ackSent(group: string, delivery: Delivery): void {
    this.#record(group).ackSent.add(delivery.id);
  }

  ackConfirmed(group: string, delivery: Delivery): void {
    this.#record(group).acked.set(delivery.id, delivery);
  }

  notYetAcked(group: string): number {
    return this.#acceptedCount() - this.#record(group).acked.size;
  }

  /** Everything that must hold once the queue is drained. */
  finish(): string[] {
    for (const [name, record] of this.#groups) {
      for (const [partitionKey, count] of this.accepted) {
        for (let place = 0; place < count; place++) {
          const id = `${partitionKey}/${place}`;
          if (!record.seen.has(id)) this.problems.push(`${name}: ${id} was accepted and never delivered`);
        }
        this.#checkOrder(name, partitionKey, record.firsts.get(partitionKey) ?? []);
      }
    }
    return this.problems;
  }

  summary(): Record<string, unknown> {
    const groups = [...this.#groups].map(([name, record]) => ({
      name,
      seen: record.seen.size,
      confirmedAcks: record.acked.size,
      firstAttempts: [...record.firsts.values()].reduce((sum, firsts) => sum + firsts.length, 0),
    }));
    return { accepted: this.#acceptedCount(), groups };
  }

  #acceptedCount(): number {
    return [...this.accepted.values()].reduce((sum, count) => sum + count, 0);
  }

  #record(group: string): GroupRecord {
    const record = this.#groups.get(group);
    if (!record) throw new Error(`unknown group ${group}`);
    return record;
  }

  /** In a strict lane everything before a delivered message was settled, so an ack for it was sent. */
  #checkStrict(group: string, record: GroupRecord, partitionKey: string, place: number): void {
    for (let before = place - 1; before >= 0; before--) {
      const id = `${partitionKey}/${before}`;
      if (record.ackSent.has(id)) return;
      this.problems.push(`${group}: ${partitionKey}/${place} was delivered while ${id} was not settled`);
    }
  }

  #checkOrder(group: string, partitionKey: string, firsts: { place: number; grantedAtMs: number }[]): void {
    const byPlace = [...firsts].sort((a, b) => a.place - b.place);
    for (const [i, first] of byPlace.entries()) {
      const next = byPlace[i + 1];
      if (!next) continue;
      if (next.place === first.place)
        this.problems.push(`${group}: ${partitionKey}/${first.place} was twice attempt 1`);
      if (next.grantedAtMs < first.grantedAtMs) {
        this.problems.push(
          `${group}: ${partitionKey}/${next.place} was granted ${first.grantedAtMs - next.grantedAtMs} ms before ${partitionKey}/${first.place}`,
        );
      }
    }
  }
}
