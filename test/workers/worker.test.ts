import { createExecutionContext, createScheduledController, waitOnExecutionContext } from "cloudflare:test";
import { describe, expect, test } from "vitest";
import { GC_REGISTRY_NAME } from "../../src/durable/gc-registry.ts";
import worker from "../../src/workers/index.ts";
import { demo, env, send } from "./worker.ts";

describe("the Worker in its runtime", () => {
  test("G12: publishes and receives a body as it was written, and bytes as they were", async () => {
    const source = '{ "n":1.0,"n":12345678901234567890,"s":"\\ud800 é🚚","__proto__":1e400 }';
    const text = `{"messages":[{"id":"json","partitionKey":"k 🚚","headers":{"X-A":"é"},"body": ${source} },
      {"id":"bytes","partitionKey":"k 🚚","bodyBase64":"AP8=","contentType":"a/b"}]}`;
    const published = await demo("POST", "topics/exact/messages", text);
    expect(await published.json()).toEqual({
      messages: [
        { id: "json", partitionKey: "k 🚚", duplicate: false },
        { id: "bytes", partitionKey: "k 🚚", duplicate: false },
      ],
    });
    const received = await (await demo("POST", "topics/exact/groups/g/receive", '{"subscriber":"s"}')).text();
    expect(received).toContain(`"body":${source},`);
    expect(received).toContain('"bodyBase64":"AP8=","contentType":"a/b"');
    expect(received).toContain('"headers":{"x-a":"é"}');
    const { deliveries } = JSON.parse(received) as { deliveries: { receipt: string }[] };
    const settlements = deliveries.map(({ receipt }) => ({ receipt, action: "ack" }));
    const settled = await demo("POST", "topics/exact/groups/g/settle", JSON.stringify({ settlements }));
    expect(await settled.json()).toEqual({
      results: deliveries.map(({ receipt }) => ({ receipt, status: "ok" })),
    });
  });

  test("a raw message of every byte value comes back", async () => {
    const body = Uint8Array.from({ length: 256 }, (_, i) => i);
    const headers = { "x-fairlane-partition-key": "%D0%BA", "x-fairlane-header-dev": "alice" };
    expect((await demo("POST", "topics/raw/raw", body, headers)).status).toBe(200);
    const reply = await demo("POST", "topics/raw/groups/g/receive", '{"subscriber":"s"}');
    const { deliveries } = (await reply.json()) as { deliveries: Record<string, unknown>[] };
    expect(deliveries).toMatchObject([
      { bodyBase64: btoa(String.fromCharCode(...body)), partitionKey: "к", headers: { dev: "alice" } },
    ]);
  });

  test("nothing is stored of a batch with one bad message", async () => {
    const text = '{"messages":[{"id":"a","body":1},{"id":"b","body":1,"delayMs":-1}]}';
    const refused = await demo("POST", "topics/whole/messages", text);
    expect(await refused.json()).toMatchObject({ status: 400, issues: [{ path: "messages[1].delayMs" }] });
    expect((await demo("GET", "topics/whole")).status).toBe(404);
  });

  test("a request over the bound is answered, however large it is", async () => {
    const body = " ".repeat(20 * 1024 * 1024);
    expect((await demo("POST", "topics/large/messages", body)).status).toBe(413);
  });

  test("a foreign token is 403 in this runtime as well", async () => {
    expect((await send("GET", "/v1/tenants/demo/topics", { tenant: "acme" })).status).toBe(403);
  });

  test("a cron run collects each tenant that is due and notes it", async () => {
    const scheduledTime = new Date("2030-01-01T00:00:00Z");
    const context = createExecutionContext();
    await worker.scheduled(createScheduledController({ scheduledTime }), env);
    await waitOnExecutionContext(context);
    const registry = env.GC_REGISTRY.getByName(GC_REGISTRY_NAME);
    const tenants = (env.MQ_TENANTS ?? "").split(",");
    expect(tenants).toHaveLength(3);
    expect(await registry.due(tenants, scheduledTime.getTime() + 1, 600_000, 200)).toEqual([]);
  });
});
