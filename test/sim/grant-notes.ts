import type { GrantNote, History } from "./history.ts";

/** Where it stands in a receipt. */
export const NONCE = /\.([0-9a-f]{16})\./;

/** Tables whose statements begin with tenant, topic and group. */
const KEYED_BY_GROUP = /queue_(delivery|partition|group_progress)/;

/**
 * Hands out the nonces of deliveries, numbered, so that a receipt tells when its grant was decided. Those of a
 * transaction that was rolled back never were; of which group the others are, the rows written with them say.
 */
export class GrantNotes {
  private readonly history: History;
  private drawnEver = 0;
  /** Drawn in the transaction under way. */
  private drawn: GrantNote[] = [];
  /** An instant of that transaction before all of them; null: there are none. */
  beforeSeq: number | null = null;

  constructor(history: History) {
    this.history = history;
  }

  draw(): string {
    this.drawnEver += 1;
    const nonce = this.drawnEver.toString(16).padStart(16, "0");
    const { history } = this;
    this.beforeSeq ??= history.seq();
    this.drawn.push({
      nonce,
      seq: history.seq(),
      clockMs: history.clockMs(),
      logClockMs: history.logClockMs(),
      topic: "",
      group: "",
      answered: false,
      returned: "no",
      table: 0,
    });
    return nonce;
  }

  wrote(query: string, params: readonly unknown[]): void {
    if (this.drawn.length === 0 || !KEYED_BY_GROUP.test(query)) return;
    for (const note of this.drawn) {
      if (note.topic !== "") continue;
      note.topic = String(params[1]);
      note.group = String(params[2]);
    }
  }

  /** Comes after the routes of the transaction were noted. */
  committed(): void {
    for (const note of this.drawn) note.table = this.history.routeTables.length - 1;
    this.history.grants.push(...this.drawn);
    this.forget();
  }

  rolledBack(): void {
    this.forget();
  }

  private forget(): void {
    this.drawn = [];
    this.beforeSeq = null;
  }
}
