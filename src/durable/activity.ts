import type { Ports } from "./ports.ts";

const MIN_RETRY_MS = 1000;
const MAX_RETRY_MS = 60_000;

/**
 * Whether collection may leave this object alone.
 *
 *   active  something may have to be collected some day; the registry knows
 *   quiet   the last pass answered idle with the number in the row, or nothing is known yet (a new life)
 *
 * From quiet, the first message or group raises the number, which is announced. So an answer `idle` carries a
 * number below every announcement that came after it, in whatever order the two reach the registry. A number may
 * rise without need, after a restart; an announcement that is lost with the object is made up for by the next one,
 * and by the registry looking at idle objects once a day.
 */
export class Activity {
  private readonly tenant: string;
  private readonly ports: Ports;
  private quiet = true;
  private stirred = false;
  private pending: number | null = null;
  private announcing: Promise<void> | null = null;
  private backoffMs = MIN_RETRY_MS;
  private retryAt: number | null = null;

  constructor(tenant: string, ports: Ports) {
    this.tenant = tenant;
    this.ports = ports;
  }

  /** When an announcement that failed is tried again; null when none waits. For the alarm. */
  get retryAtMs(): number | null {
    return this.retryAt;
  }

  /** A message was stored, or a group made. After the commit: before it there would be nothing to collect. */
  rose(): void {
    this.stirred = true;
    if (!this.quiet) return;
    this.quiet = false;
    this.pending = this.raise();
    this.retry();
  }

  /** Announces what is pending, if anything, in the background: nothing waits for the registry. */
  retry(): void {
    if (this.pending === null) return;
    this.announce().catch((error: unknown) => this.ports.report("announce", error));
  }

  /** Tells the registry what waits to be told; a failure is reported and tried again at `retryAtMs`. */
  announce(): Promise<void> {
    this.announcing ??= this.announcePending().finally(() => {
      this.announcing = null;
    });
    return this.announcing;
  }

  /** A pass begins to look at what the object holds. */
  passBegins(): void {
    this.stirred = false;
  }

  /** What the pass may answer: idle only if nothing came since it began. */
  answer(holdsNothing: boolean): { idle: boolean; activity: number } {
    const idle = holdsNothing && !this.stirred && this.ports.announceActive !== undefined;
    if (idle) {
      this.quiet = true;
      this.pending = null;
      this.retryAt = null;
    }
    return { idle, activity: this.current() };
  }

  private async announcePending(): Promise<void> {
    const activity = this.pending;
    if (activity === null || !this.ports.announceActive) return;
    this.retryAt = null;
    try {
      await this.ports.announceActive(activity);
      this.backoffMs = MIN_RETRY_MS;
      if (this.pending === activity) this.pending = null;
    } catch (error) {
      this.ports.report("announce", error);
      if (this.pending === null) return;
      this.retryAt = this.ports.clock.nowMs() + this.backoffMs;
      this.backoffMs = Math.min(MAX_RETRY_MS, 2 * this.backoffMs);
      const armed = this.ports.alarm.get();
      if (armed === null || armed > this.retryAt) this.ports.alarm.set(this.retryAt);
    }
  }

  private current(): number {
    const [row] = this.ports.sql.all("SELECT activity FROM queue_tenant WHERE tenant = ?", this.tenant);
    return Number(row?.activity ?? 0);
  }

  private raise(): number {
    this.ports.sql.run(
      `INSERT INTO queue_tenant (tenant, activity) VALUES (?, 1)
       ON CONFLICT (tenant) DO UPDATE SET activity = activity + 1`,
      this.tenant,
    );
    return this.current();
  }
}
