import type { operations } from "../../protocol/operations.ts";
import type { PutGroupInput, PutTopicInput } from "../../protocol/tenant-calls.ts";
import type { Route } from "../http/call.ts";
import { jsonResponse, noContent } from "../http/json-response.ts";

type Operations = typeof operations;

export const putGroup: Route<Operations["putGroup"]> = async ({ services, tenant, params, body }) => {
  const { topic, group } = params;
  const settings = present(body) as PutGroupInput["settings"];
  if (body.retry !== undefined) settings.retry = present(body.retry);
  return jsonResponse(await services.tenants.call(tenant, "putGroup", { topic, group, settings }));
};

export const getGroup: Route<Operations["getGroup"]> = async ({ services, tenant, params }) => {
  const { topic, group } = params;
  return jsonResponse(await services.tenants.call(tenant, "getGroup", { topic, group }));
};

export const deleteGroup: Route<Operations["deleteGroup"]> = async ({ services, tenant, params, query }) => {
  const { topic, group } = params;
  await services.tenants.call(tenant, "deleteGroup", { topic, group, force: query.force ?? false });
  return noContent();
};

export const putTopic: Route<Operations["putTopic"]> = async ({ services, tenant, params, body }) => {
  const settings: PutTopicInput["settings"] = present(body);
  return jsonResponse(await services.tenants.call(tenant, "putTopic", { topic: params.topic, settings }));
};

export const getTopic: Route<Operations["getTopic"]> = async ({ services, tenant, params }) =>
  jsonResponse(await services.tenants.call(tenant, "getTopic", { topic: params.topic }));

export const listTopics: Route<Operations["listTopics"]> = async ({ services, tenant }) =>
  jsonResponse(await services.tenants.call(tenant, "listTopics", {}));

type Present<T> = { [K in keyof T]: Exclude<T[K], undefined> };

/** Absent settings keep their value: none may travel as undefined. */
function present<T extends object>(settings: T): Present<T> {
  return Object.fromEntries(
    Object.entries(settings).filter(([, value]) => value !== undefined),
  ) as Present<T>;
}
