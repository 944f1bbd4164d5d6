import type { operations } from "../../protocol/operations.ts";
import type { agentConnection } from "../../protocol/split-agent.ts";
import type { Route } from "../http/call.ts";
import { jsonResponse, noContent } from "../http/json-response.ts";
import { invalidRequest } from "../http/validate.ts";

type Operations = typeof operations;

export const putSplit: Route<Operations["putSplit"]> = async ({ services, tenant, params, body }) =>
  jsonResponse(await services.splits.call({ tenant, workload: params.workload }, "putSplit", body));

export const getSplit: Route<Operations["getSplit"]> = async ({ services, tenant, params }) =>
  jsonResponse(await services.splits.call({ tenant, workload: params.workload }, "getSplit", {}));

export const deleteSplit: Route<Operations["deleteSplit"]> = async ({ services, tenant, params, query }) => {
  const { workload } = params;
  await services.splits.call({ tenant, workload }, "deleteSplit", { force: query.force ?? false });
  return noContent();
};

export const startSplit: Route<Operations["startSplit"]> = async ({ services, tenant, params }) =>
  jsonResponse(await services.splits.call({ tenant, workload: params.workload }, "startSplit", {}));

export const stopSplit: Route<Operations["stopSplit"]> = async ({ services, tenant, params }) =>
  jsonResponse(await services.splits.call({ tenant, workload: params.workload }, "stopSplit", {}));

export const resumeSplit: Route<Operations["resumeSplit"]> = async ({ services, tenant, params, body }) =>
  jsonResponse(await services.splits.call({ tenant, workload: params.workload }, "resumeSplit", body));

export const putSplitRoute: Route<Operations["putSplitRoute"]> = async ({
  services,
  tenant,
  params,
  body,
}) => {
  const { workload, route } = params;
  return jsonResponse(await services.splits.call({ tenant, workload }, "putSplitRoute", { route, ...body }));
};

export const getSplitRoute: Route<Operations["getSplitRoute"]> = async ({ services, tenant, params }) => {
  const { workload, route } = params;
  return jsonResponse(await services.splits.call({ tenant, workload }, "getSplitRoute", { route }));
};

export const listSplitRoutes: Route<Operations["listSplitRoutes"]> = async ({ services, tenant, params }) =>
  jsonResponse(await services.splits.call({ tenant, workload: params.workload }, "listSplitRoutes", {}));

export const deleteSplitRoute: Route<Operations["deleteSplitRoute"]> = async ({
  services,
  tenant,
  params,
}) => {
  const { workload, route } = params;
  await services.splits.call({ tenant, workload }, "deleteSplitRoute", { route });
  return noContent();
};

/** The queue agent's WebSocket: asked of a split that is declared, by a request that wants one. */
export const connectAgent: Route<typeof agentConnection> = async ({ services, tenant, params, request }) => {
  if (request.headers.get("upgrade")?.toLowerCase() !== "websocket") {
    invalidRequest([{ path: "upgrade", message: "must be websocket" }], "this path is a WebSocket's");
  }
  const of = { tenant, workload: params.workload };
  await services.splits.call(of, "getSplit", {});
  return new Response(null, { status: 101, webSocket: await services.splits.connectAgent(of, request) });
};
