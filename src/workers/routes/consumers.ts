import type { operations } from "../../protocol/operations.ts";
import { keptReason } from "../../protocol/settle.ts";
import type { Settlement } from "../../protocol/tenant-calls.ts";
import type { Route } from "../http/call.ts";
import { jsonResponse, noContent } from "../http/json-response.ts";

type Operations = typeof operations;

export const settle: Route<Operations["settle"]> = async ({ services, tenant, params, body }) => {
  const results = await services.tenants.call(tenant, "settle", {
    topic: params.topic,
    group: params.group,
    subscriber: body.subscriber ?? null,
    settlements: body.settlements.map(
      (settlement): Settlement =>
        "reason" in settlement && settlement.reason !== undefined
          ? { ...settlement, reason: keptReason(settlement.reason) }
          : settlement,
    ),
  });
  return jsonResponse({ results });
};

export const heartbeat: Route<Operations["heartbeat"]> = async ({ services, tenant, params }) => {
  const { topic, group, subscriber } = params;
  return jsonResponse(await services.tenants.call(tenant, "heartbeat", { topic, group, subscriber }));
};

export const leave: Route<Operations["leave"]> = async ({ services, tenant, params }) => {
  const { topic, group, subscriber } = params;
  await services.tenants.call(tenant, "leave", { topic, group, subscriber });
  return noContent();
};
