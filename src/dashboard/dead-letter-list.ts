import type { DeadLetter, DeadLetterPage, Fairlane } from "../client/fairlane.ts";
import { Poller, type PollTimers } from "./poller.ts";
import { bytesOfBase64, bytesOfText, previewOf } from "./preview.ts";
import type { Problem } from "./problem.ts";
import { type BoardState, type Confirmation, UNREAD } from "./state.ts";
import type { Store } from "./store.ts";

export const DEAD_LETTERS_SHOWN = 50;
const DEAD_LETTER_SUFFIX = "_dlq";

export interface DeadLetterPorts {
  store: Store<BoardState>;
  client: Fairlane;
  timers: PollTimers;
  failed(what: string, error: unknown, retryAtMs?: number | null): Problem;
}

/**
 * The dead letters of the chosen topic. They are read from the log itself, so not every two seconds: when the topic is
 * chosen, when the snapshot counts another number of them, and after what was done here.
 */
export class DeadLetterList {
  private readonly store: Store<BoardState>;
  private readonly client: Fairlane;
  private readonly failed: DeadLetterPorts["failed"];
  private readonly poller: Poller<DeadLetterPage>;
  private countedLast: number | null = null;

  constructor({ store, client, timers, failed }: DeadLetterPorts) {
    this.store = store;
    this.client = client;
    this.failed = failed;
    this.poller = new Poller({
      timers,
      intervalMs: null,
      read: () => {
        const { topic, deadLetterStarts } = store.get();
        const after = deadLetterStarts.at(-1) ?? 0;
        return client.admin.deadLetters(topic ?? "", { after, limit: DEAD_LETTERS_SHOWN });
      },
      onReply: (value) => this.replied(value),
      onFailure: (error, retryAtMs) => {
        const problem = failed("Reading the dead letters", error, retryAtMs);
        store.update({ deadLetters: { ...store.get().deadLetters, problem } });
      },
    });
  }

  start(): void {
    this.poller.start();
  }

  stop(): void {
    this.poller.stop();
  }

  askNow(): void {
    this.poller.askNow();
  }

  /** Of another topic nothing stays. */
  clear(): void {
    this.poller.stop();
    this.countedLast = null;
    this.store.update({ deadLetters: UNREAD, deadLetterStarts: [0], ticked: new Set(), preview: null });
  }

  /** The snapshot has so many of them. */
  counted(count: number): void {
    if (this.countedLast !== null && this.countedLast !== count) this.poller.askNow();
    this.countedLast = count;
  }

  showAfter(deadLetterStarts: readonly number[]): void {
    this.store.update({ deadLetterStarts, deadLetters: UNREAD, ticked: new Set(), preview: null });
    this.poller.start();
  }

  tick(offset: number, on: boolean): void {
    const ticked = new Set(this.store.get().ticked);
    if (on) ticked.add(offset);
    else ticked.delete(offset);
    this.store.update({ ticked });
  }

  tickAll(on: boolean): void {
    const rows = this.store.get().deadLetters.value?.deadLetters ?? [];
    this.store.update({ ticked: new Set(on ? rows.map(({ offset }) => offset) : []) });
  }

  closePreview(): void {
    this.store.update({ preview: null });
  }

  async openPreview(row: DeadLetter): Promise<void> {
    const { topic } = this.store.get();
    this.store.update({ preview: { row, body: UNREAD } });
    const isShown = () => this.store.get().preview?.row.offset === row.offset;
    try {
      const { id, partitionKey, offset } = row;
      const message = await this.client.admin.getMessage(`${topic}${DEAD_LETTER_SUFFIX}`, {
        id,
        partitionKey,
        offset,
      });
      if (!isShown()) return;
      const { contentType, bodyBytes, bodyBase64, bodyText = "" } = message;
      const start = bodyBase64 === undefined ? bytesOfText(bodyText) : bytesOfBase64(bodyBase64);
      const value = previewOf(start, contentType, bodyBytes);
      this.store.update({ preview: { row, body: { value, problem: null } } });
    } catch (error) {
      const problem = this.failed("Reading the body", error);
      if (isShown()) this.store.update({ preview: { row, body: { value: null, problem } } });
    }
  }

  /** `rows` of the list; each goes back to its own group alone. */
  redrive(rows: readonly DeadLetter[]): Confirmation {
    const topic = this.store.get().topic ?? "";
    const groups = [...new Set(rows.map(({ group }) => group))].sort();
    const count = rows.length === 1 ? "1 dead letter" : `${rows.length} dead letters`;
    return {
      title: `Redrive ${count}`,
      text: `Back to the end of its partition, as attempt 1, for ${groups.join(", ")} alone.`,
      action: "Redrive",
      run: async () => {
        let redriven = 0;
        for (const group of groups) {
          const ids = rows
            .filter((row) => row.group === group)
            .map(({ id, partitionKey }) => ({ id, partitionKey }));
          redriven += (await this.client.admin.redrive(topic, { ids, group })).redriven;
        }
        this.redriven(topic, redriven);
      },
    };
  }

  redriveGroup(group: string): Confirmation {
    const topic = this.store.get().topic ?? "";
    return {
      title: `Redrive all dead letters of ${group}`,
      text: `All that ${group} failed in ${topic}, also those that are not on this page, go back to it as attempt 1.`,
      action: "Redrive all",
      run: async () => this.redriven(topic, (await this.client.admin.redrive(topic, { group })).redriven),
    };
  }

  private redriven(topic: string, count: number): void {
    this.store.update({
      notice: `${count} dead ${count === 1 ? "letter" : "letters"} of ${topic} redriven`,
      ticked: new Set(),
      preview: null,
    });
    this.poller.askNow();
  }

  /** What is ticked and shown stays so as far as it is still there. */
  private replied(value: DeadLetterPage): void {
    const { deadLetterStarts } = this.store.get();
    // The last of a page went: the one before it is shown, rather than nothing.
    if (value.deadLetters.length === 0 && deadLetterStarts.length > 1) {
      this.showAfter(deadLetterStarts.slice(0, -1));
      return;
    }
    const offsets = new Set(value.deadLetters.map(({ offset }) => offset));
    const { ticked, preview } = this.store.get();
    this.store.update({
      deadLetters: { value, problem: null },
      ticked: new Set([...ticked].filter((offset) => offsets.has(offset))),
      preview: preview !== null && offsets.has(preview.row.offset) ? preview : null,
    });
  }
}
