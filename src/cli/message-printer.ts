import type { Message } from "../client/fairlane.ts";
import type { Handle } from "./commands/consume.ts";
import { bodyOfDelivery, deliveryJson } from "./delivery-text.ts";
import { OutputClosed } from "./output.ts";
import type { Run } from "./run.ts";
import { timeText } from "./times.ts";

/** Prints a message; done once it is handed over to whoever reads. */
export function messagePrinter(run: Run): Handle {
  return async (message) => {
    try {
      await print(run, message);
      return { kind: "ack" };
    } catch (error) {
      // Nobody has seen it.
      if (error instanceof OutputClosed) return { kind: "give-back" };
      throw error;
    }
  };
}

async function print(run: Run, message: Message): Promise<void> {
  const { out } = run;
  const body = bodyOfDelivery(message);
  if (out.json) return out.document(deliveryJson(message, body.text));
  if (!out.terminal) return out.write(Buffer.concat([body.bytes, Buffer.from("\n")]));
  const attempt = message.attempt > 1 ? `  attempt ${message.attempt}` : "";
  const head = `${timeText(message.publishedAt, run.nowMs)}  ${message.partitionKey}  ${message.id}${attempt}`;
  const shown = body.text ?? new TextDecoder().decode(body.bytes);
  await out.write(`${out.styled("dim", out.name(head))}\n${out.text(shown)}\n`);
}
