import { evictDurableObject, runDurableObjectAlarm } from "cloudflare:test";
import { env } from "cloudflare:workers";
import type { NewMessage } from "../../src/log/message-log.ts";
import type {
  DeliveryView,
  Outcome,
  Settlement,
  TakeInput,
  TenantCalls,
} from "../../src/protocol/tenant-calls.ts";
import type { Env } from "../../src/workers/env.ts";

/** One tenant's object in its real runtime, called as a Worker calls it. */
export function setup(tenant: string) {
  const stub = (env as unknown as Env).TENANT.getByName(tenant);
  const calls = stub as unknown as TenantCalls;
  const at = { topic: "orders", group: "billing" };
  let takes = 0;
  return {
    at,
    evict: () => evictDurableObject(stub as unknown as DurableObjectStub),
    alarm: () => runDurableObjectAlarm(stub as unknown as DurableObjectStub),
    call: async <N extends keyof TenantCalls>(
      name: N,
      input: Parameters<TenantCalls[N]>[1],
    ): Promise<Value<N>> => {
      // A property of a stub is a remote reference, so the method is called on the stub itself.
      const callers = calls as unknown as Record<
        N,
        (tenant: string, input: unknown) => Promise<Outcome<Value<N>>>
      >;
      const outcome = await callers[name](tenant, input);
      if (!outcome.ok) throw new Error(`${name}: ${outcome.error.code}: ${outcome.error.detail}`);
      return outcome.value;
    },
    raw: calls,
    publish: (...messages: NewMessage[]) => calls.publish(tenant, { topic: at.topic, messages }),
    take: async (more: Partial<TakeInput> = {}): Promise<DeliveryView[]> => {
      takes += 1;
      const input: TakeInput = {
        ...at,
        subscriber: "worker-1",
        maxMessages: 10,
        waitMs: 0,
        visibilityTimeoutMs: null,
        takeId: `take-${takes}`,
        ...more,
      };
      const outcome = await calls.take(tenant, input);
      if (!outcome.ok) throw new Error(outcome.error.detail);
      return outcome.value.deliveries;
    },
    settle: async (...settlements: Settlement[]): Promise<string[]> => {
      const outcome = await calls.settle(tenant, { ...at, subscriber: null, settlements });
      if (!outcome.ok) throw new Error(outcome.error.detail);
      return outcome.value.map(({ status }) => status);
    },
  };
}

type Value<N extends keyof TenantCalls> =
  Awaited<ReturnType<TenantCalls[N]>> extends Outcome<infer V> ? V : never;

export function message(id: string, partitionKey = "order-1", delayMs = 0): NewMessage {
  return { id, partitionKey, body: `{"id":${JSON.stringify(id)}}`, contentType: null, headers: "", delayMs };
}

export function ids(deliveries: readonly DeliveryView[]): string[] {
  return deliveries.map(({ id }) => id);
}
