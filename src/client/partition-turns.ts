/**
 * Whose turn it is: of each partition at most one item at a time, in the order of their arrival. Without an order
 * everyone may go at once.
 */
export class PartitionTurns<Item extends { readonly partitionKey: string }> {
  private readonly ordered: boolean;
  /** Partitions of which an item is having its turn, with those that wait for it. */
  private readonly busy = new Map<string, Item[]>();

  constructor(ordered: boolean) {
    this.ordered = ordered;
  }

  /** true: it is its turn. Otherwise `end` of one before it will give it. */
  arrive(item: Item): boolean {
    if (!this.ordered) return true;
    const waiting = this.busy.get(item.partitionKey);
    if (waiting === undefined) this.busy.set(item.partitionKey, []);
    else waiting.push(item);
    return waiting === undefined;
  }

  /** The item's turn is over; whose turn it is now in its partition, if anyone waits. */
  end(item: Item): Item | undefined {
    if (!this.ordered) return undefined;
    const next = this.busy.get(item.partitionKey)?.shift();
    if (next === undefined) this.busy.delete(item.partitionKey);
    return next;
  }

  /** Those that wait in the partition of an item that has its turn, taken out of it. */
  takeWaiting({ partitionKey }: Item): Item[] {
    return this.busy.get(partitionKey)?.splice(0) ?? [];
  }

  /** Takes out one that waits. */
  drop(item: Item): void {
    const waiting = this.busy.get(item.partitionKey);
    const at = waiting?.indexOf(item) ?? -1;
    if (at >= 0) waiting?.splice(at, 1);
  }
}
