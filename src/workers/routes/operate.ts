import { fail } from "../../core/failure.ts";
import type { operations } from "../../protocol/operations.ts";
import { messagesReplyText, messageText } from "../../protocol/reply-text.ts";
import type { Route } from "../http/call.ts";
import { jsonResponse, jsonTextResponse, noContent } from "../http/json-response.ts";
import type { MessageReader } from "../message-reader.ts";

type Operations = typeof operations;

export const listMessages: Route<Operations["listMessages"]> = async ({
  services,
  tenant,
  params,
  query,
}) => {
  const { topic } = params;
  const page = await services.tenants.call(tenant, "listMessages", {
    topic,
    partitionKey: query.partitionKey ?? null,
    after: query.after ?? 0,
    limit: query.limit,
    last: query.last,
  });
  return jsonTextResponse(messagesReplyText(topic, page));
};

export const getMessage: Route<Operations["getMessage"]> = async ({ services, tenant, params, query }) => {
  const { topic } = params;
  const view = await services.tenants.call(tenant, "getMessage", { topic, ...query });
  const body = view.body ?? (await readBody(services.reader, tenant, topic, view.offset));
  return jsonTextResponse(messageText(topic, { ...view, body }));
};

/** Of a message that the object found a moment ago. */
async function readBody(reader: MessageReader | null, tenant: string, topic: string, offset: number) {
  if (reader === null) throw new Error("the object left out a body that it holds");
  const message = await reader.readMessage({ tenant, topic }, offset);
  return message?.body ?? fail("not-found", `topic ${topic} has no message of this ID and partition key`);
}

export const deleteMessage: Route<Operations["deleteMessage"]> = async ({
  services,
  tenant,
  params,
  query,
}) => {
  await services.tenants.call(tenant, "deleteMessage", { topic: params.topic, ...query });
  return noContent();
};

export const purgeMessages: Route<Operations["purgeMessages"]> = async ({ services, tenant, params }) =>
  jsonResponse(await services.tenants.call(tenant, "purgeMessages", { topic: params.topic }));

export const lag: Route<Operations["lag"]> = async ({ services, tenant, params, query }) => {
  const { topic, group } = params;
  const input = { topic, group, after: query.after ?? null, limit: query.limit };
  return jsonResponse(await services.tenants.call(tenant, "lag", input));
};

export const resetOffset: Route<Operations["resetOffset"]> = async ({ services, tenant, params, body }) => {
  const { topic, group } = params;
  return jsonResponse(await services.tenants.call(tenant, "resetOffset", { topic, group, ...body }));
};

export const leases: Route<Operations["leases"]> = async ({ services, tenant, params, query }) => {
  const { topic, group } = params;
  const staleForMs = query.staleForMs ?? null;
  return jsonResponse(await services.tenants.call(tenant, "leases", { topic, group, staleForMs }));
};

export const releaseLease: Route<Operations["releaseLease"]> = async ({
  services,
  tenant,
  params,
  query,
}) => {
  const { topic, group } = params;
  await services.tenants.call(tenant, "releaseLease", { topic, group, partitionKey: query.partitionKey });
  return noContent();
};

export const deadLetters: Route<Operations["deadLetters"]> = async ({ services, tenant, params, query }) =>
  jsonResponse(await services.tenants.call(tenant, "deadLetters", { topic: params.topic, ...query }));

export const redrive: Route<Operations["redrive"]> = async ({ services, tenant, params, body }) => {
  const { ids = null, group = null, limit = null } = body;
  const { topic } = params;
  return jsonResponse(await services.tenants.call(tenant, "redrive", { topic, ids, group, limit }));
};

export const purgeDeadLetters: Route<Operations["purgeDeadLetters"]> = async ({ services, tenant, params }) =>
  jsonResponse(await services.tenants.call(tenant, "purgeDeadLetters", { topic: params.topic }));

export const collect: Route<Operations["collect"]> = async ({ services, tenant }) => {
  const { deletedMessages, releasedPartitions, stopped } = await services.tenants.call(tenant, "collect", {});
  return jsonResponse({ deletedMessages, releasedPartitions, stopped });
};
