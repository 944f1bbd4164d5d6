import { Fairlane } from "fairlane";

/** What the programs of the pipeline share. */

export interface Order {
  order: string;
  customer: string;
  total: number;
}

export interface PaidOrder extends Order {
  charge: string;
}

export const fairlane = new Fairlane({
  url: process.env.FAIRLANE_URL ?? "http://127.0.0.1:8787",
  tenant: process.env.FAIRLANE_TENANT ?? "demo",
  token: process.env.FAIRLANE_TOKEN,
});

/** Ends what was asked to end: `consume` then finishes what it has begun. */
export function stopSignal(): AbortSignal {
  const stop = new AbortController();
  for (const name of ["SIGINT", "SIGTERM"] as const) process.once(name, () => stop.abort());
  return stop.signal;
}

/**
 * Calls another service. It knows the key from a first try and then does nothing twice: a message may be delivered again
 * after the service has done its part. Rejects on any failure, and the message is retried.
 */
export async function callOnce<T>(url: string, key: string, body: unknown, signal: AbortSignal): Promise<T> {
  const reply = await fetch(url, {
    method: "POST",
    headers: { "content-type": "application/json", "idempotency-key": key },
    body: JSON.stringify(body),
    signal,
  });
  if (!reply.ok) throw new Error(`${new URL(url).pathname} answers ${reply.status}`);
  return (await reply.json()) as T;
}
