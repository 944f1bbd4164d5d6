import type { Prng } from "./prng.ts";

/** Something that happens at an instant of true time (which never jumps), unless cancelled. */
interface Event {
  atMs: number;
  /** Decides among events of one instant. */
  tie: number;
  label: string;
  run: () => void;
  cancelled: boolean;
}

/** Events by instant; those of the same instant come in an order that the seed decides. */
export class EventQueue {
  private readonly heap: Event[] = [];
  private readonly prng: Prng;

  constructor(prng: Prng) {
    this.prng = prng;
  }

  get size(): number {
    return this.heap.length;
  }

  /** Returns what cancels it. */
  add(atMs: number, label: string, run: () => void): () => void {
    const event: Event = { atMs, tie: this.prng.next(), label, run, cancelled: false };
    const { heap } = this;
    let at = heap.push(event) - 1;
    while (at > 0) {
      const parent = (at - 1) >> 1;
      if (before(heap[parent] as Event, event)) break;
      heap[at] = heap[parent] as Event;
      at = parent;
    }
    heap[at] = event;
    return () => {
      event.cancelled = true;
    };
  }

  peekAtMs(): number | null {
    while (this.heap[0]?.cancelled) this.pop();
    return this.heap[0]?.atMs ?? null;
  }

  /** The next event; call only after `peekAtMs` said that there is one. */
  take(): { label: string; run: () => void } {
    return this.pop();
  }

  private pop(): Event {
    const { heap } = this;
    const first = heap[0] as Event;
    const last = heap.pop() as Event;
    if (heap.length === 0) return first;
    let at = 0;
    for (;;) {
      let child = 2 * at + 1;
      if (child >= heap.length) break;
      const right = heap[child + 1];
      if (right && before(right, heap[child] as Event)) child += 1;
      if (before(last, heap[child] as Event)) break;
      heap[at] = heap[child] as Event;
      at = child;
    }
    heap[at] = last;
    return first;
  }
}

function before(a: Event, b: Event): boolean {
  return a.atMs < b.atMs || (a.atMs === b.atMs && a.tie < b.tie);
}
