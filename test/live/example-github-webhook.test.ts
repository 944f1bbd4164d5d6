import { createHmac } from "node:crypto";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { buildPackage } from "./example-programs.ts";
import { ExampleWorker, unnamedBindings } from "./example-worker.ts";
import { type Live, only, SECRET, setup } from "./harness.ts";
import { tenantToken } from "./tokens.ts";

const WEBHOOK_SECRET = "It's a Secret to Everybody";
const TOPIC = "github-events";
/** Spaces and a large number: whoever parses and prints it again sends other bytes. */
const PAYLOAD =
  '{ "action": "opened",  "number": 12345678901234567890, "repository": {"full_name": "acme/widgets"} }';

let live: Live;
let worker: ExampleWorker;
let deliveries = 0;
let delivery: string;

beforeAll(async () => {
  buildPackage();
  live = await setup();
  worker = await startWorker("publish");
});
afterAll(async () => {
  await worker?.stop();
  await live?.close();
});
beforeEach(() => {
  deliveries += 1;
  delivery = `00000000-0000-4000-8000-${String(deliveries).padStart(12, "0")}`;
});

function startWorker(scope: string): Promise<ExampleWorker> {
  return ExampleWorker.start("github-webhook/worker.ts", {
    FAIRLANE_URL: live.url,
    FAIRLANE_TENANT: "demo",
    FAIRLANE_TOKEN: tenantToken(SECRET, "demo", scope),
    GITHUB_WEBHOOK_SECRET: WEBHOOK_SECRET,
  });
}

function sign(payload: string, secret = WEBHOOK_SECRET): string {
  return `sha256=${createHmac("sha256", secret).update(payload).digest("hex")}`;
}

interface Sent {
  payload?: string;
  headers?: Record<string, string | null>;
  method?: string;
}

async function send({ payload = PAYLOAD, headers = {}, method = "POST" }: Sent = {}) {
  const all: Record<string, string | null> = {
    "content-type": "application/json",
    "x-github-delivery": delivery,
    "x-github-event": "pull_request",
    "x-hub-signature-256": sign(payload),
    ...headers,
  };
  const kept = Object.entries(all).filter((entry): entry is [string, string] => entry[1] !== null);
  const reply = await fetch(worker.url, {
    method,
    headers: kept,
    ...(method === "POST" ? { body: payload } : {}),
  });
  return { status: reply.status, text: await reply.text(), headers: reply.headers };
}

async function stored(): Promise<number> {
  return (await live.api("demo").listMessages(TOPIC)).filter(({ id }) => id === delivery).length;
}

describe("the webhook intake", () => {
  test("stores the bytes as they were signed, under the delivery's ID, in the repository's partition", async () => {
    expect(await send()).toMatchObject({ status: 202, text: "stored\n" });
    const path = `topics/${TOPIC}/message?id=${delivery}&partitionKey=${encodeURIComponent("acme/widgets")}`;
    const { json } = await live.api("demo").request<Record<string, unknown>>("GET", path);
    expect(json).toMatchObject({
      partitionKey: "acme/widgets",
      contentType: "application/json",
      headers: { "x-github-event": "pull_request" },
    });
    expect(Buffer.from(json.bodyBase64 as string, "base64").toString()).toBe(PAYLOAD);
  });

  test("stores a delivery once, however often it comes", async () => {
    expect(await send()).toMatchObject({ status: 202, text: "stored\n" });
    expect(await send()).toMatchObject({ status: 202, text: "already stored\n" });
    expect(await stored()).toBe(1);
  });

  test.each<[string, Sent["headers"], number]>([
    ["another secret's signature", { "x-hub-signature-256": sign(PAYLOAD, "guessed") }, 401],
    ["another payload's signature", { "x-hub-signature-256": sign(`${PAYLOAD} `) }, 401],
    ["a signature that is cut", { "x-hub-signature-256": sign(PAYLOAD).slice(0, -2) }, 401],
    ["a signature that is not hexadecimal", { "x-hub-signature-256": `sha256=${"z".repeat(64)}` }, 401],
    ["no signature", { "x-hub-signature-256": null }, 401],
    ["the older signature alone", { "x-hub-signature-256": null, "x-hub-signature": "sha1=00" }, 401],
    ["no delivery ID", { "x-github-delivery": null }, 400],
    ["no event", { "x-github-event": null }, 400],
  ])("stores nothing with %s", async (_what, headers, status) => {
    expect(await send({ headers: headers ?? {} })).toMatchObject({ status });
    expect(await stored()).toBe(0);
  });

  test("stores nothing that is not JSON, is too large, or is not posted", async () => {
    expect(await send({ payload: "payload=%7B%7D" })).toMatchObject({ status: 400 });
    expect(await send({ payload: "[]".padEnd(1024 * 1024 + 1) })).toMatchObject({ status: 413 });
    expect(await send({ method: "GET" })).toMatchObject({ status: 405 });
    expect(await stored()).toBe(0);
  });

  test("takes an event that is of no repository", async () => {
    const payload = '{"action": "created", "organization": {"login": "acme"}}';
    expect(await send({ payload })).toMatchObject({ status: 202 });
    const all = await live.api("demo").listMessages(TOPIC);
    expect(only(all.filter(({ id }) => id === delivery)).partitionKey).toMatch(/^~\d+$/);
  });

  // The last one: it takes the server away.
  test("answers 503 while the messages cannot be stored, and takes the redelivery when they can", async () => {
    await live.kill();
    const refused = await send();
    expect(refused).toMatchObject({ status: 503, text: "not stored\n" });
    expect(refused.headers.get("retry-after")).toBe("30");
    await live.restart();
    await worker.stop();
    worker = await startWorker("publish");
    expect(await send()).toMatchObject({ status: 202, text: "stored\n" });
    expect(await stored()).toBe(1);
  });
});

test("a token that may not publish: 500, since repeating does not help", async () => {
  const other = await startWorker("consume");
  try {
    const headers = {
      "x-github-delivery": delivery,
      "x-github-event": "ping",
      "x-hub-signature-256": sign(PAYLOAD),
    };
    const reply = await fetch(other.url, { method: "POST", headers, body: PAYLOAD });
    expect(reply.status).toBe(500);
    expect(other.output()).toContain("publish-failed");
    expect(other.output()).not.toContain("widgets");
  } finally {
    await other.stop();
  }
});

test("wrangler.toml names what the Worker needs", () => {
  expect(unnamedBindings("github-webhook")).toEqual([]);
});
