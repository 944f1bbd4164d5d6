import { fail } from "../../core/failure.ts";
import type { Outcome, TenantCalls } from "../../protocol/tenant-calls.ts";
import type { Tenant } from "../tenant.ts";
type Value<N extends keyof TenantCalls> = Awaited<ReturnType<TenantCalls[N]>> extends Outcome<infer V> ? V : never;
export async function collect(_tenant: Tenant, _input: Parameters<TenantCalls["collect"]>[1]): Promise<Value<"collect">> {  return fail("internal", "not there yet"); }
