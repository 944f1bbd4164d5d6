import { fail } from "../../core/failure.ts";
import type {
  GroupRef,
  PutRouteInput,
  RouteRef,
  RoutesView,
  RouteView,
} from "../../protocol/tenant-calls.ts";
import type { Tenant } from "../tenant.ts";

export async function putRoute(_tenant: Tenant, _input: PutRouteInput): Promise<RouteView> {
  return fail("internal", "routes are not there yet");
}
export async function getRoute(_tenant: Tenant, _input: RouteRef): Promise<RouteView> {
  return fail("internal", "routes are not there yet");
}
export async function listRoutes(_tenant: Tenant, _input: GroupRef): Promise<RoutesView> {
  return fail("internal", "routes are not there yet");
}
export async function deleteRoute(_tenant: Tenant, _input: RouteRef): Promise<null> {
  return fail("internal", "routes are not there yet");
}
