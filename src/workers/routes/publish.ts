import { FairlaneError } from "../../core/failure.ts";
import { MAX_BODY_BYTES } from "../../core/limits.ts";
import { isDeadLetterTopic } from "../../core/settings.ts";
import { UUID_RANDOM_BYTES, uuidV7 } from "../../core/uuid.ts";
import type { NewMessage } from "../../log/message-log.ts";
import type { operations } from "../../protocol/operations.ts";
import { readPublish } from "../../protocol/publish-body.ts";
import { readRawHeaders } from "../../protocol/raw-message.ts";
import type { Call, Route } from "../http/call.ts";
import { jsonResponse } from "../http/json-response.ts";
import { readBody } from "../http/read-body.ts";
import { invalidRequest } from "../http/validate.ts";

type PublishCall = Call<typeof operations.publish> | Call<typeof operations.publishRaw>;

export const publish: Route<typeof operations.publish> = async (call) => {
  refuseDeadLetterTopic(call.params.topic);
  const made = new MadeIds(call.nowMs);
  const read = readPublish(await readBody(call.request), () => made.next());
  if (!read.ok) throw new FairlaneError(read.error);
  return append(call, read.messages, made);
};

export const publishRaw: Route<typeof operations.publishRaw> = async (call) => {
  refuseDeadLetterTopic(call.params.topic);
  const made = new MadeIds(call.nowMs);
  const { message, issues } = readRawHeaders(call.request.headers, () => made.next());
  if (!issues.isEmpty) invalidRequest(issues.issues, "nothing was stored");
  const body = await readBody(call.request, MAX_BODY_BYTES);
  return append(call, [{ ...message, body }], made);
};

async function append(call: PublishCall, messages: NewMessage[], made: MadeIds): Promise<Response> {
  const { topic } = call.params;
  const { results } = await call.services.publishLog.append(call.tenant, { topic, messages }, call.waitUntil);
  const replies = messages.map(({ id, partitionKey }, i) => ({
    id,
    partitionKey,
    // An ID made here is new: the log knows it already only where this call was carried out twice.
    duplicate: results[i]?.duplicate === true && !made.has(id),
  }));
  return jsonResponse({ messages: replies });
}

function refuseDeadLetterTopic(topic: string): void {
  if (!isDeadLetterTopic(topic)) return;
  invalidRequest([{ path: "topic", message: "is a dead-letter topic" }], "dead letters are not published");
}

class MadeIds {
  private readonly nowMs: number;
  private readonly ids = new Set<string>();

  constructor(nowMs: number) {
    this.nowMs = nowMs;
  }

  next(): string {
    const id = uuidV7(this.nowMs, crypto.getRandomValues(new Uint8Array(UUID_RANDOM_BYTES)));
    this.ids.add(id);
    return id;
  }

  has(id: string): boolean {
    return this.ids.has(id);
  }
}
