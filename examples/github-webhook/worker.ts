import { Fairlane, FairlaneApiError } from "fairlane";

/** Takes GitHub's webhooks in: checks who sent them, and answers 202 once they are stored. */

interface Env {
  FAIRLANE_URL: string;
  FAIRLANE_TENANT: string;
  /** With the scope `publish`. */
  FAIRLANE_TOKEN: string;
  /** The secret that was given to GitHub with the webhook. */
  GITHUB_WEBHOOK_SECRET: string;
}

const TOPIC = "github-events";
/** The limit of a message's body; GitHub sends up to 25 MB. */
const MAX_BODY_BYTES = 1024 * 1024;
/** GitHub gives up on a delivery after 10 s: it must hear from us before. */
const PUBLISH_DEADLINE_MS = 5000;
const RETRY_AFTER_SECONDS = 30;

export default {
  async fetch(request: Request, env: Env): Promise<Response> {
    if (request.method !== "POST") return answer(405, "only POST");
    const delivery = request.headers.get("x-github-delivery");
    const event = request.headers.get("x-github-event");
    if (!delivery || !event) return answer(400, "x-github-delivery or x-github-event is missing");
    const length = request.headers.get("content-length");
    if (length === null) return answer(411, "content-length is missing");
    if (Number(length) > MAX_BODY_BYTES) return answer(413, `more than ${MAX_BODY_BYTES} bytes`);

    const bytes = new Uint8Array(await request.arrayBuffer());
    const signature = request.headers.get("x-hub-signature-256") ?? "";
    if (!(await isSignedBy(env.GITHUB_WEBHOOK_SECRET, bytes, signature)))
      return answer(401, "wrong signature");

    const partitionKey = repositoryOf(bytes);
    if (partitionKey === null)
      return answer(400, "not JSON: set the webhook's content type to application/json");
    return publish(env, { delivery, event, partitionKey, bytes });
  },
};

interface Webhook {
  delivery: string;
  event: string;
  /** What keeps its order: undefined where an event is of no repository. */
  partitionKey: string | undefined;
  bytes: Uint8Array;
}

async function publish(env: Env, webhook: Webhook): Promise<Response> {
  const fairlane = new Fairlane({
    url: env.FAIRLANE_URL,
    tenant: env.FAIRLANE_TENANT,
    token: env.FAIRLANE_TOKEN,
  });
  const { delivery, event, partitionKey, bytes } = webhook;
  try {
    // The bytes as they were signed. GitHub names each delivery, and redelivers it under the same name.
    const { duplicate } = await fairlane.publish(
      TOPIC,
      {
        id: delivery,
        ...(partitionKey === undefined ? {} : { partitionKey }),
        bytes,
        contentType: "application/json",
        headers: { "x-github-event": event },
      },
      { signal: AbortSignal.timeout(PUBLISH_DEADLINE_MS) },
    );
    return answer(202, duplicate ? "already stored" : "stored");
  } catch (error) {
    // One that the server understood and refused will be refused again: that is for us to see, not for GitHub to repeat.
    const refused = error instanceof FairlaneApiError && error.status < 500 && error.status !== 429;
    console.error(JSON.stringify({ event: "publish-failed", delivery, reason: String(error) }));
    if (refused) return answer(500, "refused");
    return answer(503, "not stored", { "retry-after": String(RETRY_AFTER_SECONDS) });
  }
}

/** Compares in constant time. */
async function isSignedBy(secret: string, bytes: Uint8Array, header: string): Promise<boolean> {
  const hex = /^sha256=([0-9a-f]{64})$/.exec(header)?.[1];
  if (hex === undefined) return false;
  const signature = Uint8Array.from(hex.match(/../g) ?? [], (pair) => Number.parseInt(pair, 16));
  const algorithm = { name: "HMAC", hash: "SHA-256" };
  const key = await crypto.subtle.importKey("raw", new TextEncoder().encode(secret), algorithm, false, [
    "verify",
  ]);
  return crypto.subtle.verify("HMAC", key, signature, bytes as Uint8Array<ArrayBuffer>);
}

/** `owner/name`, undefined where the event is of no repository, null where the bytes are no JSON object. */
function repositoryOf(bytes: Uint8Array): string | undefined | null {
  try {
    const payload = JSON.parse(new TextDecoder().decode(bytes)) as {
      repository?: { full_name?: unknown };
    } | null;
    if (typeof payload !== "object" || payload === null) return null;
    const name = payload.repository?.full_name;
    return typeof name === "string" && name !== "" ? name : undefined;
  } catch {
    return null;
  }
}

function answer(status: number, text: string, headers: Record<string, string> = {}): Response {
  return new Response(`${text}\n`, { status, headers: { "content-type": "text/plain", ...headers } });
}
