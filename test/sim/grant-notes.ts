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

  constructor(history: History) {
    this.history = history;
  }

  draw(): string {
    this.drawnEver += 1;
    const nonce = this.drawnEver.toString(16).padStart(16, "0");
    const { history } = this;
    this.drawn.push({
      nonce,
      seq: history.seq(),
      clockMs: history.clockMs(),
      logClockMs: history.logClockMs(),
      topic: "",
      group: "",
      answered: false,
      returned: "no",
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

  committed(): void {
    this.history.grants.push(...this.drawn);
    this.drawn = [];
  }

  rolledBack(): void {
    this.drawn = [];
  }
}
