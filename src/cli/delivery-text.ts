import type { Message } from "../client/fairlane.ts";
import { exactJsonOf } from "./message-text.ts";

/** A body as it was published: the text of a JSON one, and in any case its bytes. */
export interface ExactBody {
  text: string | null;
  bytes: Uint8Array;
}

export function bodyOfDelivery({ bodyText, bytes }: Message): ExactBody {
  if (bytes !== undefined) return { text: null, bytes };
  const text = bodyText ?? "";
  return { text, bytes: Buffer.from(text, "utf8") };
}

/** A delivery as the API writes it, without what settles it. */
export function deliveryJson(message: Message, bodyText: string | null): string {
  const { id, topic, partitionKey, offset, attempt, bytes, contentType, headers, deadLetter } = message;
  const view = {
    id,
    topic,
    partitionKey,
    offset,
    attempt,
    ...(bytes === undefined ? {} : { bodyBase64: Buffer.from(bytes).toString("base64") }),
    contentType,
    headers,
    publishedAt: message.publishedAt,
    visibleUntil: message.visibleUntil,
    ...(deadLetter === undefined ? {} : { deadLetter }),
  };
  return exactJsonOf({ view, text: bodyText });
}
