/** Bytes of each message's body, as its JSON source text. */
export const BODY_BYTES = 256;
const ID_DIGITS = 9;

const FRAME = '{"order":"","total":1999,"currency":"EUR"}';
/** Of every message. */
export const BODY = FRAME.replace('""', `"${"x".repeat(BODY_BYTES - FRAME.length)}"`);

/** Numbers the messages of one topic, so that every one can be told apart and none is a duplicate. */
export class MessageSource {
  readonly partitions: number;
  private readonly keys: string[];
  private readonly headersOf: ((number: number) => string) | null;
  private next: number;

  /**
   * `prefix` tells the partitions of this source from another one's; `first` is its first number; `headersOf` gives a
   * message's headers as JSON text.
   */
  constructor(
    partitions: number,
    prefix = "p",
    first = 0,
    headersOf: ((number: number) => string) | null = null,
  ) {
    this.partitions = partitions;
    this.headersOf = headersOf;
    this.next = first;
    this.keys = Array.from({ length: partitions }, (_, number) => `${prefix}-${number}`);
  }

  /** The number of the next message: how many were made, if the first was 0. */
  get made(): number {
    return this.next;
  }

  /** A publish request of the next `count` messages, partition after partition. */
  batch(count: number): string {
    let text = '{"messages":[';
    for (let place = 0; place < count; place++) {
      const number = this.next++;
      const key = this.keys[number % this.partitions];
      const headers = this.headersOf === null ? "" : `"headers":${this.headersOf(number)},`;
      text += `${place === 0 ? "" : ","}{"id":"${idOf(number)}","partitionKey":"${key}",${headers}"body":${BODY}}`;
    }
    return `${text}]}`;
  }
}

export function idOf(number: number): string {
  return `m-${String(number).padStart(ID_DIGITS, "0")}`;
}

export interface Received {
  receipts: string[];
  /** Of each message, as `MessageSource` counts them. */
  numbers: number[];
}

const RECEIPT = '"receipt":"';
const ID = '"id":"';

/**
 * Receipts and message numbers of a receive's reply, without parsing it: the bodies are ours and hold
 * neither of the names. Throws where a delivery has a receipt and no ID of ours.
 */
export function scanDeliveries(reply: Buffer): Received {
  const text = reply.toString("latin1");
  const receipts: string[] = [];
  const numbers: number[] = [];
  for (let at = text.indexOf(RECEIPT); at >= 0; at = text.indexOf(RECEIPT, at)) {
    const start = at + RECEIPT.length;
    const end = text.indexOf('"', start);
    const id = text.indexOf(ID, end) + ID.length;
    const number = Number(text.slice(id + 2, id + 2 + ID_DIGITS));
    if (id < end || text.slice(id, id + 2) !== "m-" || !Number.isSafeInteger(number)) {
      throw new Error(`a delivery without an ID of this run: ${text.slice(at, at + 200)}`);
    }
    receipts.push(text.slice(start, end));
    numbers.push(number);
    at = id;
  }
  return { receipts, numbers };
}

export function settleBody(subscriber: string, receipts: readonly string[]): string {
  const settlements = receipts.map((receipt) => `{"receipt":"${receipt}","action":"ack"}`);
  return `{"subscriber":"${subscriber}","settlements":[${settlements.join(",")}]}`;
}

/** How often `part` stands in `reply`. */
export function countOf(reply: Buffer, part: string): number {
  let count = 0;
  for (let at = reply.indexOf(part); at >= 0; at = reply.indexOf(part, at + part.length)) count++;
  return count;
}

/** Marks message numbers that arrived. */
export class Seen {
  private marks = new Uint8Array(1 << 16);
  /** Different messages. */
  count = 0;
  /** Deliveries of messages that had arrived already. */
  again = 0;

  add(numbers: readonly number[]): void {
    for (const number of numbers) {
      while (number >= this.marks.length) {
        const grown = new Uint8Array(this.marks.length * 2);
        grown.set(this.marks);
        this.marks = grown;
      }
      if (this.marks[number] === 1) this.again++;
      else this.count++;
      this.marks[number] = 1;
    }
  }
}
