import { fail } from "../../core/failure.ts";
import type { Outcome, TenantCalls } from "../../protocol/tenant-calls.ts";
import type { Tenant } from "../tenant.ts";
type Value<N extends keyof TenantCalls> = Awaited<ReturnType<TenantCalls[N]>> extends Outcome<infer V> ? V : never;
export async function listMessages(_tenant: Tenant, _input: Parameters<TenantCalls["listMessages"]>[1]): Promise<Value<"listMessages">> {  return fail("internal", "not there yet"); }
export async function getMessage(_tenant: Tenant, _input: Parameters<TenantCalls["getMessage"]>[1]): Promise<Value<"getMessage">> {  return fail("internal", "not there yet"); }
export async function deleteMessage(_tenant: Tenant, _input: Parameters<TenantCalls["deleteMessage"]>[1]): Promise<Value<"deleteMessage">> {  return fail("internal", "not there yet"); }
export async function purgeMessages(_tenant: Tenant, _input: Parameters<TenantCalls["purgeMessages"]>[1]): Promise<Value<"purgeMessages">> {  return fail("internal", "not there yet"); }
