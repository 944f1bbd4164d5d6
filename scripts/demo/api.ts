/** The few calls of the HTTP API that the demo makes; a failure shows the server's own words. */
export interface Delivery {
  receipt: string;
  id: string;
  partitionKey: string;
  attempt: number;
  body: Record<string, unknown>;
}

export interface DeadLetter {
  id: string;
  partitionKey: string;
  group: string;
  reason: string;
  attempts: number;
}

export interface Settlement {
  receipt: string;
  action: "ack" | "nack" | "postpone" | "reject";
  reason?: string;
  delayMs?: number;
}

export interface NewMessage {
  id: string;
  partitionKey: string;
  body: unknown;
}

export class TenantApi {
  readonly tenant: string;
  private readonly base: string;
  private readonly token: string;

  constructor(url: string, token: string, tenant: string) {
    this.tenant = tenant;
    this.base = `${url}/v1/tenants/${tenant}`;
    this.token = token;
  }

  publish(
    topic: string,
    messages: NewMessage[],
  ): Promise<{ messages: { id: string; duplicate: boolean }[] }> {
    return this.call("POST", `/topics/${topic}/messages`, { messages });
  }

  async receive(topic: string, group: string, subscriber: string, waitMs: number): Promise<Delivery[]> {
    const body = { subscriber, maxMessages: 20, waitMs };
    const reply = await this.call<{ deliveries: Delivery[] }>(
      "POST",
      `/topics/${topic}/groups/${group}/receive`,
      body,
    );
    return reply.deliveries;
  }

  settle(
    topic: string,
    group: string,
    subscriber: string,
    settlements: Settlement[],
  ): Promise<{ results: { status: string; deadLettered?: boolean }[] }> {
    return this.call("POST", `/topics/${topic}/groups/${group}/settle`, { subscriber, settlements });
  }

  putGroup(topic: string, group: string, settings: Record<string, unknown>): Promise<unknown> {
    return this.call("PUT", `/topics/${topic}/groups/${group}`, settings);
  }

  leave(topic: string, group: string, subscriber: string): Promise<unknown> {
    return this.call("DELETE", `/topics/${topic}/groups/${group}/subscribers/${subscriber}`);
  }

  deadLetters(topic: string): Promise<{ deadLetters: DeadLetter[] }> {
    return this.call("GET", `/topics/${topic}/dead-letters`);
  }

  redrive(topic: string, ids: { id: string; partitionKey: string }[]): Promise<{ redriven: number }> {
    return this.call("POST", `/topics/${topic}/dead-letters/redrive`, { ids });
  }

  topics(): Promise<{ topics: string[] }> {
    return this.call("GET", "/topics");
  }

  private async call<T>(method: string, path: string, body?: unknown): Promise<T> {
    const response = await fetch(this.base + path, {
      method,
      headers: { authorization: `Bearer ${this.token}`, "content-type": "application/json" },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    const text = await response.text();
    if (!response.ok) throw new Error(`${method} ${path} answered ${response.status}: ${text}`);
    return (text === "" ? null : JSON.parse(text)) as T;
  }
}
