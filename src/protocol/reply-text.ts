import type { DeadLetterInfo } from "../log/message-log.ts";
import { encodeBase64 } from "./base64.ts";
import type { BodyView, DeliveryView, MessageView, TakeReply } from "./tenant-calls.ts";
import { utf8Length } from "./utf8.ts";

/**
 * Replies that carry bodies and headers are written by hand, so that a JSON body goes out as the source
 * text that came in, and headers as the text that was stored: no object in between could hold a repeated
 * name, `1.0` or an integer beyond 2^53.
 */
export const JSON_CONTENT_TYPE = "application/json";

/** No UTF-16 unit takes more bytes than this in UTF-8. */
const MAX_BYTES_PER_UNIT = 3;

/**
 * The reply to a receive in at most `maxBytes` of UTF-8: as many deliveries as fit, from the first on. The
 * others are left, for the caller to give back; the first one is never among them.
 */
export function receiveReplyText(
  topic: string,
  reply: TakeReply,
  maxBytes: number,
): { text: string; left: DeliveryView[] } {
  const { deliveries, partitions, partitionsHeld } = reply;
  const tail = `],"partitions":${JSON.stringify(partitions)},"partitionsHeld":${partitionsHeld}}`;
  let text = '{"deliveries":[';
  // An upper bound spares most replies the count of their bytes.
  let exactBytes: number | null = null;
  for (let i = 0; i < deliveries.length; i++) {
    const one = (i === 0 ? "" : ",") + deliveryText(topic, deliveries[i] as DeliveryView);
    const units = text.length + one.length + tail.length;
    if (exactBytes !== null || units * MAX_BYTES_PER_UNIT > maxBytes) {
      exactBytes = (exactBytes ?? utf8Length(text) + utf8Length(tail)) + utf8Length(one);
      if (exactBytes > maxBytes && i > 0) return { text: text + tail, left: deliveries.slice(i) };
    }
    text += one;
  }
  return { text: text + tail, left: [] };
}

function deliveryText(topic: string, view: DeliveryView): string {
  return (
    `{"receipt":${JSON.stringify(view.receipt)},"id":${JSON.stringify(view.id)}` +
    `,"topic":${JSON.stringify(topic)},"partitionKey":${JSON.stringify(view.partitionKey)}` +
    `,"offset":${view.offset},"attempt":${view.attempt},${bodyText(view)},${kindText(view)}` +
    `,"publishedAt":${view.publishedAt},"visibleUntil":${view.visibleUntil},"leaseEpoch":${view.leaseEpoch}` +
    `${deadLetterText(view.deadLetter)}}`
  );
}

/** One stored message for an operator; with its body where there is one. */
export function messageText(topic: string, view: MessageView & Partial<BodyView>): string {
  const { body } = view;
  return (
    `{"id":${JSON.stringify(view.id)},"topic":${JSON.stringify(topic)}` +
    `,"partitionKey":${JSON.stringify(view.partitionKey)},"offset":${view.offset}` +
    `,"publishedAt":${view.publishedAt},"dueAt":${view.dueAt},"bodyBytes":${view.bodyBytes}` +
    `${body === undefined ? "" : `,${bodyText({ body })}`},${kindText(view)}` +
    `${view.targetGroup === null ? "" : `,"targetGroup":${JSON.stringify(view.targetGroup)}`}` +
    `${deadLetterText(view.deadLetter)}}`
  );
}

export function messagesReplyText(
  topic: string,
  page: { messages: MessageView[]; next: string | number | null },
): string {
  const messages = page.messages.map((view) => messageText(topic, view)).join(",");
  return `{"messages":[${messages}],"next":${JSON.stringify(page.next)}}`;
}

function bodyText({ body }: BodyView): string {
  return typeof body === "string" ? `"body":${body}` : `"bodyBase64":"${encodeBase64(body)}"`;
}

function kindText({ contentType, headers }: { contentType: string | null; headers: string }): string {
  const type = JSON.stringify(contentType ?? JSON_CONTENT_TYPE);
  return `"contentType":${type},"headers":${headers === "" ? "{}" : headers}`;
}

function deadLetterText(info: DeadLetterInfo | null): string {
  if (info === null) return "";
  const { originalTopic, originalId, group, failedAtMs, attempts, reason } = info;
  const shown = { originalTopic, originalId, group, failedAt: failedAtMs, attempts, reason };
  return `,"deadLetter":${JSON.stringify(shown)}`;
}
