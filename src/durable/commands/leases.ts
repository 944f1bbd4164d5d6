import { fail } from "../../core/failure.ts";
import type { Outcome, TenantCalls } from "../../protocol/tenant-calls.ts";
import type { Tenant } from "../tenant.ts";
type Value<N extends keyof TenantCalls> = Awaited<ReturnType<TenantCalls[N]>> extends Outcome<infer V> ? V : never;
export async function leases(_tenant: Tenant, _input: Parameters<TenantCalls["leases"]>[1]): Promise<Value<"leases">> {  return fail("internal", "not there yet"); }
export async function releaseLease(_tenant: Tenant, _input: Parameters<TenantCalls["releaseLease"]>[1]): Promise<Value<"releaseLease">> {  return fail("internal", "not there yet"); }
