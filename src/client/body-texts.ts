import { scanPublishSpans } from "../protocol/json-spans.ts";

/**
 * Gives each message of a reply its `bodyText`: the body as it was published, of which the parsed value has lost large
 * integers, `1.0`, repeated names and white space. It is not enumerable: `JSON.stringify` of the message does not have
 * the body twice.
 *
 * @param messages as they were parsed
 * @param reply the JSON text of an object that has them in the list `listName`
 */
export function addBodyTexts(
  messages: readonly unknown[],
  reply: string,
  listName: "deliveries" | "messages",
): void {
  const texts = new BodyTexts(reply, listName, messages.length);
  for (const [index, message] of messages.entries()) {
    if (typeof message !== "object" || message === null) continue;
    Object.defineProperty(message, "bodyText", { get: () => texts.at(index), configurable: true });
  }
}

/** Read out of the reply when the first of them is asked for, all at once, so that the reply need not be kept then. */
class BodyTexts {
  private reply: string;
  private readonly listName: string;
  private readonly count: number;
  private texts: (string | undefined)[] | null = null;

  constructor(reply: string, listName: string, count: number) {
    this.reply = reply;
    this.listName = listName;
    this.count = count;
  }

  at(index: number): string | undefined {
    this.texts ??= this.read();
    return this.texts[index];
  }

  private read(): (string | undefined)[] {
    const { reply } = this;
    this.reply = "";
    const { messages } = scanPublishSpans(reply, this.count, this.listName);
    return messages.map((spans) =>
      spans === null || spans.bodyStart < 0 ? undefined : copyOf(reply, spans.bodyStart, spans.bodyEnd),
    );
  }
}

/** Of its own: a mere slice would have the engine keep the whole text. */
function copyOf(text: string, start: number, end: number): string {
  return ` ${text.slice(start, end)}`.slice(1);
}
