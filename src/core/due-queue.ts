/**
 * Keys ordered by an instant: a binary heap in which setting a key again supersedes its older place.
 * Superseded places are dropped when they surface, and the heap is rebuilt when they outnumber the keys.
 */
export class DueQueue<K> {
  private heap: { atMs: number; key: K }[] = [];
  private readonly current = new Map<K, number>();

  set(key: K, atMs: number | null): void {
    if (atMs === null) {
      this.current.delete(key);
      return;
    }
    if (this.current.get(key) === atMs) return;
    this.current.set(key, atMs);
    this.push({ atMs, key });
    if (this.heap.length > 2 * this.current.size + 64) this.rebuild();
  }

  /** The earliest instant, null when nothing waits. */
  peekAtMs(): number | null {
    this.dropSuperseded();
    return this.heap[0]?.atMs ?? null;
  }

  /** Takes out every key due at `nowMs`. */
  takeDue(nowMs: number): K[] {
    const due: K[] = [];
    for (;;) {
      this.dropSuperseded();
      const first = this.heap[0];
      if (!first || first.atMs > nowMs) return due;
      this.pop();
      this.current.delete(first.key);
      due.push(first.key);
    }
  }

  /** Takes out the `count` keys that are due first, whenever that is. */
  takeFirst(count: number): K[] {
    const first: K[] = [];
    while (first.length < count) {
      this.dropSuperseded();
      const next = this.heap[0];
      if (!next) break;
      this.pop();
      this.current.delete(next.key);
      first.push(next.key);
    }
    return first;
  }

  private dropSuperseded(): void {
    for (let first = this.heap[0]; first && this.current.get(first.key) !== first.atMs; first = this.heap[0])
      this.pop();
  }

  private rebuild(): void {
    this.heap = [];
    for (const [key, atMs] of this.current) this.push({ atMs, key });
  }

  private push(item: { atMs: number; key: K }): void {
    const heap = this.heap;
    let at = heap.push(item) - 1;
    while (at > 0) {
      const parent = (at - 1) >> 1;
      const above = heap[parent] as { atMs: number; key: K };
      if (above.atMs <= item.atMs) break;
      heap[at] = above;
      at = parent;
    }
    heap[at] = item;
  }

  private pop(): void {
    const heap = this.heap;
    const last = heap.pop();
    if (!last || heap.length === 0) return;
    let at = 0;
    for (;;) {
      let child = 2 * at + 1;
      if (child >= heap.length) break;
      const right = heap[child + 1];
      if (right && right.atMs < (heap[child] as { atMs: number }).atMs) child += 1;
      const below = heap[child] as { atMs: number; key: K };
      if (below.atMs >= last.atMs) break;
      heap[at] = below;
      at = child;
    }
    heap[at] = last;
  }
}
