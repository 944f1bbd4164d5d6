import type { operations } from "../../protocol/operations.ts";
import type { Route } from "../http/call.ts";
import { jsonResponse } from "../http/json-response.ts";

type Operations = typeof operations;

export const explain: Route<Operations["explain"]> = async ({ services, tenant, params, query }) => {
  const { topic, group } = params;
  const { partitionKey, id = null, offset = null } = query;
  const input = { topic, group, partitionKey, id, offset };
  return jsonResponse(await services.tenants.call(tenant, "explain", input));
};

export const waitingLanes: Route<Operations["waitingLanes"]> = async ({
  services,
  tenant,
  params,
  query,
}) => {
  const { topic, group } = params;
  return jsonResponse(
    await services.tenants.call(tenant, "waitingLanes", { topic, group, limit: query.limit }),
  );
};

export const subscribers: Route<Operations["subscribers"]> = async ({ services, tenant, params }) => {
  const { topic, group } = params;
  return jsonResponse(await services.tenants.call(tenant, "subscribers", { topic, group }));
};

export const overview: Route<Operations["overview"]> = async ({ services, tenant, query }) => {
  const { after = null, limit } = query;
  return jsonResponse(await services.tenants.call(tenant, "overview", { after, limit }));
};
