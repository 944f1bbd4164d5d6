import type { Delivery, Settlement, SettleRequest, SettleResult } from "../../../src/client/fairlane.ts";
import { hang, json, noContent, type Role, type Sent, Wire } from "./wire.ts";

const GROUP = "/v1/tenants/demo/topics/t/groups/g";

/**
 * The server's part in one group's conversation, as far as a consumer can see it: what is due is handed over once, a
 * settlement is answered as the test says. The rules of delivery are the server's own tests' matter.
 */
export class GroupRole {
  readonly wire: Wire;
  /** What the next receives hand over. */
  readonly due: Delivery[] = [];
  readonly settlements: (Settlement & { atMs: number })[] = [];
  readonly receives: {
    maxMessages: number;
    visibilityTimeoutMs: number;
    route?: string;
    atMs: number;
  }[] = [];
  /** What was asked of routes, in order: `put alice`, `end alice`. */
  readonly routeCalls: { what: string; body: unknown; atMs: number }[] = [];
  heartbeats = 0;
  left = 0;
  settings: object = { visibilityTimeoutMs: 30_000, leaseDurationMs: 30_000 };
  statusOf: (settlement: Settlement) => SettleResult["status"] = () => "ok";
  /** Comes before all else: what it answers is the answer. */
  trouble: (request: Sent, kind: CallKind) => ReturnType<Role> | undefined = () => undefined;
  private published = 0;
  private waiting: (() => void)[] = [];

  constructor() {
    this.wire = new Wire((request) => this.answer(request));
  }

  get subscriber(): string {
    const first = this.wire.sent.find(({ path }) => path.endsWith("/receive"));
    return (first?.json as { subscriber: string } | undefined)?.subscriber ?? "";
  }

  /** What became of the messages, e.g. `ack m0`. */
  get decisions(): string[] {
    return this.settlements
      .filter(({ action }) => action !== "extend")
      .map(({ action, receipt }) => `${action} ${receipt}`);
  }

  get extensions(): (Settlement & { atMs: number })[] {
    return this.settlements.filter(({ action }) => action === "extend");
  }

  /** Makes messages due; the receipt is the ID. */
  publish(...messages: ({ id: string } & Partial<Delivery>)[]): void {
    for (const message of messages) {
      this.published += 1;
      this.due.push({ ...deliveryOf(message.id, this.published), ...message });
    }
    for (const wake of this.waiting.splice(0)) wake();
  }

  private answer(request: Sent): ReturnType<Role> {
    const kind = kindOf(request);
    const troubled = this.trouble(request, kind);
    if (troubled !== undefined) return troubled;
    switch (kind) {
      case "settings":
        return json(this.settings);
      case "heartbeat":
        this.heartbeats += 1;
        return json({ partitions: [], expiresAt: 0 });
      case "leave":
        this.left += 1;
        for (const wake of this.waiting.splice(0)) wake();
        return noContent();
      case "put-route":
        this.routeCalls.push({ what: `put ${nameOf(request)}`, body: request.json, atMs: request.atMs });
        return json({});
      case "end-route":
        this.routeCalls.push({ what: `end ${nameOf(request)}`, body: undefined, atMs: request.atMs });
        return noContent();
      case "settle":
        return this.settle(request);
      case "receive":
        return this.receive(request);
    }
  }

  private settle({ json: body, atMs }: Sent): Response {
    const { settlements } = body as SettleRequest;
    this.settlements.push(...settlements.map((one) => ({ ...one, atMs })));
    const results = settlements.map((one) => ({ receipt: one.receipt, status: this.statusOf(one) }));
    return json({ results });
  }

  private async receive({ json: body, atMs, signal }: Sent): Promise<Response> {
    const { subscriber: _, waitMs, ...asked } = body as ReceiveRequestFields;
    const { maxMessages } = asked;
    this.receives.push({ ...asked, atMs });
    if (this.due.length === 0) await this.wait(waitMs, signal);
    if (signal.aborted) return hang();
    return json({ deliveries: this.due.splice(0, maxMessages), partitions: [], partitionsHeld: 0 });
  }

  private wait(waitMs: number, signal: AbortSignal): Promise<void> {
    return new Promise((resolve) => {
      const cancel = this.wire.time.after(waitMs, resolve);
      const end = () => {
        cancel();
        resolve();
      };
      this.waiting.push(end);
      signal.addEventListener("abort", end);
    });
  }
}

interface ReceiveRequestFields {
  subscriber: string;
  maxMessages: number;
  visibilityTimeoutMs: number;
  waitMs: number;
  route?: string;
}

export type CallKind = "settings" | "receive" | "settle" | "heartbeat" | "leave" | "put-route" | "end-route";

function kindOf({ method, path }: Sent): CallKind {
  if (method === "GET" && path === GROUP) return "settings";
  if (method === "POST" && path === `${GROUP}/receive`) return "receive";
  if (method === "POST" && path === `${GROUP}/settle`) return "settle";
  if (method === "POST" && path.endsWith("/heartbeat")) return "heartbeat";
  if (method === "DELETE" && path.startsWith(`${GROUP}/subscribers/`)) return "leave";
  if (method === "PUT" && path.startsWith(`${GROUP}/routes/`)) return "put-route";
  if (method === "DELETE" && path.startsWith(`${GROUP}/routes/`)) return "end-route";
  throw new Error(`a consumer does not call ${method} ${path}`);
}

function nameOf({ path }: Sent): string {
  return path.slice(path.lastIndexOf("/") + 1);
}

function deliveryOf(id: string, offset: number): Delivery {
  return {
    receipt: id,
    id,
    topic: "t",
    partitionKey: id,
    offset,
    attempt: 1,
    body: null,
    contentType: "application/json",
    headers: {},
    publishedAt: 0,
    visibleUntil: 0,
    leaseEpoch: 1,
  };
}
