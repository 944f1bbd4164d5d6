/** Of the server's clock nothing is known: a postponed message comes back a little later than is reckoned here. */
const GRACE_MS = 1000;
/** Partitions that are remembered; of more, the oldest are forgotten. */
const MAX_PARTITIONS = 10_000;

interface Barrier {
  offset: number;
  untilMs: number;
}

/**
 * Partitions in which a handler postponed a message. The queue delivers nothing behind it, but a receive that was open
 * meanwhile may have been granted some: they wait with it, or they would be handled before what is postponed.
 */
export class PostponedPartitions {
  private readonly barriers = new Map<string, Barrier>();

  postponed(partitionKey: string, offset: number, untilMs: number): void {
    this.barriers.delete(partitionKey);
    this.barriers.set(partitionKey, { offset, untilMs });
    if (this.barriers.size <= MAX_PARTITIONS) return;
    const [oldest] = this.barriers.keys();
    if (oldest !== undefined) this.barriers.delete(oldest);
  }

  /** For how long a message that arrives now must wait; null: it need not. One at or before the barrier ends it. */
  waitMs(partitionKey: string, offset: number, nowMs: number): number | null {
    const barrier = this.barriers.get(partitionKey);
    if (barrier === undefined) return null;
    if (offset > barrier.offset && nowMs < barrier.untilMs + GRACE_MS) {
      return Math.max(0, Math.ceil(barrier.untilMs - nowMs));
    }
    this.barriers.delete(partitionKey);
    return null;
  }

  /** It was not postponed after all. */
  forget(partitionKey: string, offset: number): void {
    if (this.barriers.get(partitionKey)?.offset === offset) this.barriers.delete(partitionKey);
  }
}
