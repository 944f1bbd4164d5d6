import type { operations } from "../../protocol/operations.ts";
import type { Route } from "../http/call.ts";
import { jsonResponse, noContent } from "../http/json-response.ts";

type Operations = typeof operations;

export const putRoute: Route<Operations["putRoute"]> = async ({ services, tenant, params, body }) => {
  const { topic, group, route } = params;
  const { filter, ttlMs } = body;
  const input = { topic, group, route, filter, ttlMs };
  return jsonResponse(await services.tenants.call(tenant, "putRoute", input));
};

export const getRoute: Route<Operations["getRoute"]> = async ({ services, tenant, params }) => {
  const { topic, group, route } = params;
  return jsonResponse(await services.tenants.call(tenant, "getRoute", { topic, group, route }));
};

export const listRoutes: Route<Operations["listRoutes"]> = async ({ services, tenant, params }) => {
  const { topic, group } = params;
  return jsonResponse(await services.tenants.call(tenant, "listRoutes", { topic, group }));
};

export const deleteRoute: Route<Operations["deleteRoute"]> = async ({ services, tenant, params }) => {
  const { topic, group, route } = params;
  await services.tenants.call(tenant, "deleteRoute", { topic, group, route });
  return noContent();
};
