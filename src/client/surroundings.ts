import { UUID_RANDOM_BYTES, uuidV7 } from "../core/uuid.ts";

/** The part of `fetch` that the client uses: a URL and its options in, a response out. */
export type Fetch = (url: string, init: RequestInit) => Promise<Response>;

/** Runs `task` once after `delayMs`; the returned function cancels it. */
export type After = (delayMs: number, task: () => void) => () => void;

/** Time and chance as the client sees them. The platform's, unless a test passes its own. */
export interface Surroundings {
  /** Milliseconds that only grow: for durations. */
  nowMs(): number;
  /** Milliseconds since the epoch: for IDs and HTTP dates. */
  epochMs(): number;
  after: After;
  /** From 0 up to 1. */
  fraction(): number;
  randomBytes(count: number): Uint8Array;
}

export const platformSurroundings: Surroundings = {
  nowMs: () => performance.now(),
  epochMs: () => Date.now(),
  after: (delayMs, task) => {
    const timer = setTimeout(task, delayMs);
    return () => clearTimeout(timer);
  },
  fraction: () => Math.random(),
  randomBytes: (count) => crypto.getRandomValues(new Uint8Array(count)),
};

/** The platform's own, looked up at each call and called without an owner, as browsers want it. */
export const platformFetch: Fetch = (url, init) => globalThis.fetch(url, init);

/** Resolves after `delayMs`; rejects with the signal's reason as soon as it aborts. */
export function pause(delayMs: number, after: After, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    if (signal?.aborted) {
      reject(signal.reason);
      return;
    }
    const onAbort = () => {
      cancel();
      reject(signal?.reason);
    };
    const cancel = after(delayMs, () => {
      signal?.removeEventListener("abort", onAbort);
      resolve();
    });
    signal?.addEventListener("abort", onAbort, { once: true });
  });
}

/** Resolves when the work has ended, however, and after `withinMs` at the latest. */
export function endOrTime(work: Promise<unknown>, withinMs: number, after: After): Promise<void> {
  return new Promise((resolve) => {
    const cancel = after(withinMs, resolve);
    const end = () => {
      cancel();
      resolve();
    };
    work.then(end, end);
  });
}

/** Calls `listener` when the signal aborts, at once if it has; the returned function ends that. */
export function onAbort(signal: AbortSignal | undefined, listener: () => void): () => void {
  if (signal === undefined) return () => {};
  if (signal.aborted) {
    listener();
    return () => {};
  }
  signal.addEventListener("abort", listener, { once: true });
  return () => signal.removeEventListener("abort", listener);
}

/** A UUIDv7. */
export function makeUuid({ epochMs, randomBytes }: Surroundings): string {
  return uuidV7(epochMs(), randomBytes(UUID_RANDOM_BYTES));
}
