import { setImmediate as turn } from "node:timers/promises";
import { Fairlane, type FairlaneOptions, type Fetch } from "../../../src/client/fairlane.ts";
import type { After, Surroundings } from "../../../src/client/surroundings.ts";

/** Turns of the event loop in which everything that waits for no timer has happened. */
const TURNS = 8;

/** A clock that moves when the test says so, and the timers that hang on it; chance that is always the same. */
export class ManualSurroundings implements Surroundings {
  now = 5000;
  chance = 0.5;
  private bytes = 0;
  private readonly timers = new Set<{ atMs: number; task: () => void }>();

  nowMs = () => this.now;
  epochMs = () => 1_700_000_000_000 + this.now;
  fraction = () => this.chance;

  after: After = (delayMs, task) => {
    const timer = { atMs: this.now + delayMs, task };
    this.timers.add(timer);
    return () => this.timers.delete(timer);
  };

  randomBytes = (count: number) => {
    this.bytes += 1;
    return new Uint8Array(count).fill(this.bytes);
  };

  get pendingTimers(): number {
    return this.timers.size;
  }

  async settle(): Promise<void> {
    for (let i = 0; i < TURNS; i++) await turn();
  }

  /** Fires what is due on the way, in order, each at its own time. */
  async advance(byMs: number): Promise<void> {
    const endMs = this.now + byMs;
    await this.settle();
    for (;;) {
      const due = [...this.timers].filter(({ atMs }) => atMs <= endMs).sort((a, b) => a.atMs - b.atMs)[0];
      if (due === undefined) break;
      this.timers.delete(due);
      this.now = Math.max(this.now, due.atMs);
      due.task();
      await this.settle();
    }
    this.now = endMs;
  }
}

/** One request as it went over the wire. */
export interface Sent {
  method: string;
  /** With the query. */
  path: string;
  headers: Record<string, string>;
  text: string;
  json: unknown;
  signal: AbortSignal;
  atMs: number;
}

/** The server's role: what it answers to a request, or what becomes of the connection. */
export type Role = (request: Sent, count: number) => Response | Error | Promise<Response | Error>;

/** Plays the server, and remembers what it was sent. */
export class Wire {
  readonly sent: Sent[] = [];
  readonly time = new ManualSurroundings();
  role: Role;

  constructor(role: Role) {
    this.role = role;
  }

  readonly fetch: Fetch = async (url, init) => {
    const { pathname, search } = new URL(url);
    const signal = init.signal as AbortSignal;
    const text = typeof init.body === "string" ? init.body : "";
    const request: Sent = {
      method: init.method ?? "",
      path: pathname + search,
      headers: init.headers as Record<string, string>,
      text,
      json: text === "" ? undefined : JSON.parse(text),
      signal,
      atMs: this.time.now,
    };
    signal.throwIfAborted();
    const answer = Promise.resolve(this.role(request, this.sent.push(request)));
    const outcome = await Promise.race([answer, abortOf(signal)]);
    if (outcome instanceof Error) throw outcome;
    return outcome;
  };

  client(options: Partial<FairlaneOptions> = {}): Fairlane {
    const defaults = { url: "http://queue.test", tenant: "demo", token: "a.b.c", fetch: this.fetch };
    return new Fairlane({ ...defaults, ...options }, this.time);
  }
}

export function json(value: unknown, status = 200, headers: Record<string, string> = {}): Response {
  return new Response(JSON.stringify(value), {
    status,
    headers: { "content-type": "application/json", "x-request-id": "r1", ...headers },
  });
}

export function problem(
  status: number,
  code: string,
  headers: Record<string, string> = {},
  more: object = {},
): Response {
  return json(
    { type: `urn:fairlane:${code}`, title: "t", status, detail: `${code}!`, ...more },
    status,
    headers,
  );
}

export const noContent = () => new Response(null, { status: 204 });

/** An answer that never comes. */
export const hang = () => new Promise<Response>(() => {});

/** As Node's fetch fails. */
export function brokenConnection(code = "ECONNRESET"): Error {
  return new TypeError("fetch failed", { cause: Object.assign(new Error(code), { code }) });
}

/** What the work came to: its value, or the error it rejected with. */
export async function outcomeOf<T>(work: Promise<T>): Promise<{ value: T } | { error: unknown }> {
  return work.then(
    (value) => ({ value }),
    (error: unknown) => ({ error }),
  );
}

function abortOf(signal: AbortSignal): Promise<never> {
  return new Promise((_, reject) => signal.addEventListener("abort", () => reject(signal.reason)));
}
