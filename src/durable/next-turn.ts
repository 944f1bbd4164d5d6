import type { Tenant } from "./tenant.ts";

/** Lets the calls that wait for the object in between two steps of long work. State may have changed after it. */
export function nextTurn(tenant: Tenant): Promise<void> {
  return new Promise((resolve) => {
    tenant.ports.timers.after(0, resolve);
  });
}
