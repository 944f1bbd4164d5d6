import { Connection, type Reply, requestHead } from "./connection.ts";
import { countOf, type Received, scanDeliveries, settleBody } from "./messages.ts";

const SHOWN_CHARS = 300;

/** Where a topic is served, and by which right. */
export interface Target {
  url: string;
  token: string;
  tenant: string;
  topic: string;
}

/** The calls of one client on one connection. Any answer but the one expected throws. */
export class QueueClient {
  readonly target: Target;
  private readonly connection: Connection;
  private readonly publishHead: string;
  private readonly groupHeads = new Map<string, { receive: string; settle: string }>();

  static async open(target: Target): Promise<QueueClient> {
    return new QueueClient(target, await Connection.open(target.url));
  }

  private constructor(target: Target, connection: Connection) {
    this.target = target;
    this.connection = connection;
    this.publishHead = this.head("POST", `topics/${target.topic}/messages`);
  }

  close(): void {
    this.connection.close();
  }

  /** A body of `MessageSource`, which holds `count` messages; all of them must be stored anew. */
  async publish(body: string, count: number): Promise<void> {
    const reply = expectOk("publish", await this.connection.request(this.publishHead, body));
    if (countOf(reply, '"duplicate":false') !== count) throw unexpected("publish", reply);
  }

  async receive(
    group: string,
    subscriber: string,
    maxMessages: number,
    waitMs: number,
    route: string | null = null,
  ): Promise<Received> {
    const attached = route === null ? "" : `,"route":"${route}"`;
    const body = `{"subscriber":"${subscriber}","maxMessages":${maxMessages},"waitMs":${waitMs}${attached}}`;
    const reply = await this.connection.request(this.headsOf(group).receive, body);
    return scanDeliveries(expectOk("receive", reply));
  }

  /** Acks; every status must be `ok`. */
  async settle(group: string, subscriber: string, receipts: readonly string[]): Promise<void> {
    const body = settleBody(subscriber, receipts);
    const reply = expectOk("settle", await this.connection.request(this.headsOf(group).settle, body));
    if (countOf(reply, '"status":"ok"') !== receipts.length) throw unexpected("settle", reply);
  }

  /** Any other call of the tenant; `path` is what follows its name. Returns the parsed reply. */
  async call<T>(method: string, path: string, body: unknown = null): Promise<T> {
    const text = body === null ? "" : JSON.stringify(body);
    const reply = await this.connection.request(this.head(method, path), text);
    return JSON.parse(expectOk(`${method} ${path}`, reply).toString()) as T;
  }

  /** A call that answers nothing. */
  async delete(path: string): Promise<void> {
    const { status, body } = await this.connection.request(this.head("DELETE", path), "");
    if (status !== 204) throw new Error(`DELETE ${path}: ${status} ${shown(body)}`);
  }

  private head(method: string, path: string): string {
    const { url, tenant, token } = this.target;
    return requestHead(method, url, `/v1/tenants/${tenant}/${path}`, token);
  }

  private headsOf(group: string): { receive: string; settle: string } {
    const path = `topics/${this.target.topic}/groups/${group}`;
    const known = this.groupHeads.get(group) ?? {
      receive: this.head("POST", `${path}/receive`),
      settle: this.head("POST", `${path}/settle`),
    };
    this.groupHeads.set(group, known);
    return known;
  }
}

export async function withClients<T>(
  target: Target,
  count: number,
  use: (clients: QueueClient[]) => Promise<T>,
): Promise<T> {
  const clients: QueueClient[] = [];
  try {
    for (let opened = 0; opened < count; opened++) clients.push(await QueueClient.open(target));
    return await use(clients);
  } finally {
    for (const client of clients) client.close();
  }
}

export async function withClient<T>(target: Target, use: (client: QueueClient) => Promise<T>): Promise<T> {
  return withClients(target, 1, ([client]) => use(client as QueueClient));
}

function expectOk(what: string, reply: Reply): Buffer {
  if (reply.status !== 200) throw new Error(`${what}: ${reply.status} ${shown(reply.body)}`);
  return reply.body;
}

function unexpected(what: string, body: Buffer): Error {
  return new Error(`${what}: not the results expected: ${shown(body)}`);
}

function shown(body: Buffer): string {
  return body.subarray(0, SHOWN_CHARS).toString();
}
