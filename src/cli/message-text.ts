import type { StoredMessageWithBody } from "../client/fairlane.ts";
import type { Run } from "./run.ts";

/** A message as the server has it, its body as it was published. */
export interface WholeMessage {
  view: StoredMessageWithBody;
  /** The source text of a JSON body; null where bytes were published. */
  text: string | null;
  bytes: Uint8Array;
}

export interface MessagePlace {
  partitionKey: string;
  id: string;
  offset?: number | undefined;
}

export async function readMessage(run: Run, topic: string, place: MessagePlace): Promise<WholeMessage> {
  const view = await run.fairlane.admin.getMessage(topic, place);
  const { bodyText = null, bodyBase64 = "" } = view;
  const bytes = bodyText === null ? Buffer.from(bodyBase64, "base64") : Buffer.from(bodyText, "utf8");
  return { view, text: bodyText, bytes };
}

/** The API's reply as JSON, the body as it was written. */
export function exactJsonOf({ view, text }: { view: object; text: string | null }): string {
  if (text === null) return JSON.stringify(view);
  const { body: _, ...others } = view as { body?: unknown };
  const json = JSON.stringify(others);
  return `${json.slice(0, -1)}${json === "{}" ? "" : ","}"body":${oneLine(text)}}`;
}

/** White space between JSON's parts may be line breaks, and a line of JSON is one line. */
function oneLine(text: string): string {
  return text.replace(/[\r\n]/g, " ");
}
