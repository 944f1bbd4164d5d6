import { fail } from "../../core/failure.ts";
import type { Outcome, TenantCalls } from "../../protocol/tenant-calls.ts";
import type { Tenant } from "../tenant.ts";
type Value<N extends keyof TenantCalls> = Awaited<ReturnType<TenantCalls[N]>> extends Outcome<infer V> ? V : never;
export async function deadLetters(_tenant: Tenant, _input: Parameters<TenantCalls["deadLetters"]>[1]): Promise<Value<"deadLetters">> {  return fail("internal", "not there yet"); }
export async function redrive(_tenant: Tenant, _input: Parameters<TenantCalls["redrive"]>[1]): Promise<Value<"redrive">> {  return fail("internal", "not there yet"); }
export async function purgeDeadLetters(_tenant: Tenant, _input: Parameters<TenantCalls["purgeDeadLetters"]>[1]): Promise<Value<"purgeDeadLetters">> {  return fail("internal", "not there yet"); }
