import type { NewMessage } from "../../src/log/message-log.ts";
import type { Call, History, LogRow } from "./history.ts";

/** G1, G8 and G12 at the log: what was accepted is there, whole, once, and as it was sent. */
export function auditPublishes(history: History): void {
  const byName = new Map<string, LogRow[]>();
  for (const row of history.rows) {
    if (row.origin !== "") continue;
    const name = nameOf(row.topic, row);
    byName.set(name, [...(byName.get(name) ?? []), row]);
  }
  const calls = history.of("publish");
  const sent = new Map<string, NewMessage[]>();
  for (const { input } of calls) {
    for (const message of input.messages) {
      const name = nameOf(input.topic, message);
      sent.set(name, [...(sent.get(name) ?? []), message]);
    }
  }
  for (const call of calls) auditCall(history, call, byName);
  for (const [name, rows] of byName) auditRows(history, name, rows, sent.get(name) ?? []);
}

function nameOf(topic: string, message: { id: string; partitionKey: string }): string {
  return JSON.stringify([topic, message.partitionKey, message.id]);
}

function auditCall(history: History, call: Call<"publish">, byName: ReadonlyMap<string, LogRow[]>): void {
  const { outcome, input, startSeq } = call;
  const endSeq = call.endSeq ?? Number.POSITIVE_INFINITY;
  const rowsOf = (message: NewMessage) => byName.get(nameOf(input.topic, message)) ?? [];
  const present = (message: NewMessage) =>
    rowsOf(message).find(
      (row) => row.notBeforeSeq < endSeq && (row.vanishedSeq ?? Number.POSITIVE_INFINITY) > startSeq,
    );
  if (!outcome?.ok) {
    // Its own rows, recognised by their bytes: all of them, or none.
    const made = input.messages.filter((message) =>
      rowsOf(message).some(
        (row) => row.appearedSeq > startSeq && row.notBeforeSeq < endSeq && sameBytes(row, message),
      ),
    );
    if (made.length > 0 && !input.messages.every(present)) {
      history.violate(
        "G1",
        `a batch of ${input.messages.length} was stored in part: ${made.length} messages`,
      );
    }
    return;
  }
  if (outcome.value.results.length !== input.messages.length)
    history.violate("G1", "a publish answered another number of results");
  for (const [at, message] of input.messages.entries()) {
    const row = present(message);
    if (!row) history.violate("G1", `${message.id} was answered as stored and is not in the log`);
    else if (
      outcome.value.results[at]?.duplicate === false &&
      !madeBy(rowsOf(message), message, startSeq, endSeq)
    ) {
      history.violate("G8", `${message.id} was answered as new, and its row is not of this publish`);
    }
  }
}

function madeBy(rows: readonly LogRow[], message: NewMessage, startSeq: number, endSeq: number): boolean {
  return rows.some(
    (row) => row.appearedSeq > startSeq && row.notBeforeSeq < endSeq && sameBytes(row, message),
  );
}

function auditRows(
  history: History,
  name: string,
  rows: readonly LogRow[],
  sent: readonly NewMessage[],
): void {
  for (const row of rows) {
    if (!sent.some((message) => sameBytes(row, message)))
      history.violate("G12", `the log's ${name} has bytes that nobody sent`);
  }
  for (const [at, row] of rows.entries()) {
    const before = rows[at - 1];
    if (before && (before.vanishedSeq ?? Number.POSITIVE_INFINITY) > row.appearedSeq) {
      history.violate("G8", `${name} is stored twice, at offsets ${before.offset} and ${row.offset}`);
    }
  }
}

export function sameBytes(
  row: { body: string | Uint8Array; contentType: string | null; headers: string },
  message: { body: string | Uint8Array; contentType: string | null; headers: string },
): boolean {
  if (row.contentType !== message.contentType || row.headers !== message.headers) return false;
  if (typeof row.body === "string" || typeof message.body === "string") return row.body === message.body;
  return Buffer.compare(row.body, message.body) === 0;
}
