/// <reference types="@cloudflare/vitest-plugin/types" />
import { exports } from "cloudflare:workers";
import { sign } from "hono/jwt";
import { describe, expect, test } from "vitest";
import { Fairlane, FairlaneApiError, messageId } from "../../src/client/fairlane.ts";
import { env } from "./worker.ts";

// The client inside the runtime that Workers have, with the Worker behind a service binding.

const worker = (exports as unknown as { default: Fetcher }).default;

async function client(): Promise<Fairlane> {
  const exp = Math.floor(Date.now() / 1000) + 600;
  const claims = { tenant: "demo", scope: "publish consume admin", exp };
  const token = await sign(claims, env.AUTH_SECRET ?? "", "HS256");
  return new Fairlane({
    url: "https://fairlane.test",
    tenant: "demo",
    token: () => token,
    fetch: (url, init) => worker.fetch(url, init),
  });
}

describe("the client in a Worker", () => {
  test("publishes under an ID of the occasion, and consumes", async () => {
    const fairlane = await client();
    const id = await messageId("order-1", "created", "é".repeat(300));
    const message = { id, partitionKey: "order-1", body: { total: 3 } };
    expect(await fairlane.publish("worker-client", message)).toMatchObject({ id, duplicate: false });
    expect(await fairlane.publish("worker-client", message)).toMatchObject({ id, duplicate: true });
    await fairlane.publish("worker-client", { partitionKey: "order-1", bytes: Uint8Array.of(0, 255) });
    const stop = new AbortController();
    const seen: unknown[] = [];
    await fairlane.consume("worker-client", {
      group: "g",
      signal: stop.signal,
      handler: ({ body, bytes }) => {
        seen.push(body ?? bytes);
        if (seen.length === 2) stop.abort();
      },
    });
    expect(seen).toEqual([{ total: 3 }, Uint8Array.of(0, 255)]);
    const { groups } = await fairlane.admin.getTopic("worker-client");
    expect(groups).toMatchObject([{ backlog: 0, inFlight: 0, subscribers: 0 }]);
  });

  test("loops, and gives back what it leaves", async () => {
    const fairlane = await client();
    await fairlane.publishBatch(
      "worker-loop",
      [1, 2, 3].map((body) => ({ partitionKey: "p", body })),
    );
    for await (const { body } of fairlane.messages("worker-loop", { group: "g" })) if (body === 2) break;
    const { deliveries } = await fairlane.receive("worker-loop", "g", { subscriber: "s" });
    expect(deliveries.map(({ body, attempt }) => [body, attempt])).toEqual([
      [2, 1],
      [3, 1],
    ]);
  });

  test("hears of refusals", async () => {
    const fairlane = await client();
    const refused = await fairlane.admin.getTopic("nothing").catch((error: unknown) => error);
    expect(refused).toBeInstanceOf(FairlaneApiError);
    expect(refused).toMatchObject({ code: "not-found", status: 404 });
  });
});
