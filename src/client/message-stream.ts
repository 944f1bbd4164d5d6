import { giveBack, type Message } from "./consume-options.ts";

interface Handed {
  message: Message;
  /** Ends the message's handler. */
  end: (result: unknown) => void;
}

/** What a running consumer is for a stream. */
export interface RunningConsumer {
  /** Ends when it has left. */
  done: Promise<void>;
  stop(): void;
}

/**
 * Messages one after the other, from a consumer whose handler hands them over and ends when the loop asks for the next
 * one. Leaving the loop leaves the current message undecided, unless the loop decided: leaving the group gives it back.
 *
 * @param signal once it aborts, no message is handed over any more
 * @param start begins consuming with that handler
 */
export async function* messageStream(
  signal: AbortSignal | undefined,
  start: (handler: (message: Message) => Promise<unknown>) => RunningConsumer,
): AsyncGenerator<Message, void, undefined> {
  // No longer than the consumer's concurrency.
  const handed: Handed[] = [];
  let isDone = false;
  let wake = () => {};
  const consumer = start(
    (message) =>
      new Promise((end) => {
        handed.push({ message, end });
        wake();
      }),
  );
  const ended = consumer.done.finally(() => {
    isDone = true;
    wake();
  });
  // Whoever loops hears of a failure when everything handed over is done.
  ended.catch(() => {});
  try {
    for (;;) {
      while (handed.length === 0 && !isDone) {
        await new Promise<void>((resolve) => {
          wake = resolve;
        });
      }
      const next = signal?.aborted ? undefined : handed.shift();
      if (next === undefined) break;
      let goesOn = false;
      try {
        yield next.message;
        goesOn = true;
      } finally {
        next.end(goesOn ? undefined : giveBack);
      }
    }
  } finally {
    for (const { end } of handed.splice(0)) end(giveBack);
    consumer.stop();
    await ended;
  }
}
