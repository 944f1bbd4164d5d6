import { expect } from "vitest";
import type {
  Delivery,
  NewWireMessage,
  PublishedMessage,
  ReceiveReply,
  ReceiveRequest,
  SettleResult,
  WireDeadLetterEntry,
  WireGroupSettings,
  WireMessage,
  WireSettlement,
  WireTopic,
} from "./wire.ts";

export interface Reply<T> {
  status: number;
  headers: Headers;
  text: string;
  /** Parsed body; undefined where the reply is empty or not JSON. */
  json: T;
}

export interface RequestOptions {
  /** Sent as JSON. */
  json?: unknown;
  /** Sent as it is, in place of `json`. */
  text?: string | Uint8Array;
  /** Sent in chunks, without a length. */
  stream?: ReadableStream;
  headers?: Record<string, string>;
  signal?: AbortSignal;
}

/** Calls of one tenant with one token. `path` is everything after `/v1/tenants/{tenant}/`. */
export interface Api {
  request<T = unknown>(method: string, path: string, options?: RequestOptions): Promise<Reply<T>>;
  /** Publishes and expects 200. */
  publish(topic: string, messages: NewWireMessage[]): Promise<PublishedMessage[]>;
  /** Receives as subscriber `s1` unless told otherwise, and expects 200. */
  receive(topic: string, group: string, input?: ReceiveRequest): Promise<ReceiveReply>;
  /** Receives until `count` deliveries are there, in their order; fails when they do not come in time. */
  receiveCount(topic: string, group: string, count: number, input?: ReceiveRequest): Promise<Delivery[]>;
  settle(
    topic: string,
    group: string,
    settlements: WireSettlement[],
    subscriber?: string,
  ): Promise<SettleResult[]>;
  /** Settles one receipt and returns its status. */
  settleOne(topic: string, group: string, settlement: WireSettlement): Promise<SettleResult["status"]>;
  /** Acknowledges and expects each to be `ok`. */
  ack(topic: string, group: string, deliveries: Delivery[]): Promise<void>;
  putGroup(topic: string, group: string, settings?: Record<string, unknown>): Promise<WireGroupSettings>;
  putTopic(topic: string, settings: Record<string, unknown>): Promise<unknown>;
  getTopic(topic: string): Promise<WireTopic>;
  listMessages(topic: string): Promise<WireMessage[]>;
  deadLetters(topic: string): Promise<WireDeadLetterEntry[]>;
}

const REQUEST_DEADLINE_MS = 30_000;
const RECEIVE_COUNT_DEADLINE_MS = 15_000;
const MAX_LISTED = 20_000;

/** One HTTP exchange. Every reply of the product must carry a request id, so it is checked here once. */
export async function exchange<T>(
  url: string,
  method: string,
  token: string | null,
  options: RequestOptions = {},
): Promise<Reply<T>> {
  const headers: Record<string, string> = { ...options.headers };
  if (token !== null) headers.authorization = `Bearer ${token}`;
  const body = options.stream ?? (options.json === undefined ? options.text : JSON.stringify(options.json));
  if (options.json !== undefined) headers["content-type"] ??= "application/json";
  const deadline = AbortSignal.timeout(REQUEST_DEADLINE_MS);
  const response = await fetch(url, {
    method,
    headers,
    signal: options.signal ? AbortSignal.any([options.signal, deadline]) : deadline,
    ...(body === undefined ? {} : { body }),
    ...(options.stream ? { duplex: "half" } : {}),
  });
  const text = await response.text();
  expect(response.headers.get("x-request-id"), `${method} ${url}`).toMatch(/\S/);
  const isJson = /\bjson\b/.test(response.headers.get("content-type") ?? "") && text !== "";
  return {
    status: response.status,
    headers: response.headers,
    text,
    json: (isJson ? JSON.parse(text) : undefined) as T,
  };
}

/** Where a server is; a restart may move it, so it is read at each call. */
export interface Address {
  url: string;
}

export function makeApi(address: Address, tenant: string, token: string | null): Api {
  const request: Api["request"] = (method, path, options) =>
    exchange(`${address.url}/v1/tenants/${tenant}/${path}`, method, token, options);

  async function expect200<T>(method: string, path: string, json?: unknown): Promise<T> {
    const reply = await request<T>(method, path, json === undefined ? {} : { json });
    expect(reply.status, `${method} ${path}: ${reply.text.slice(0, 600)}`).toBe(200);
    return reply.json;
  }

  const publish: Api["publish"] = async (topic, messages) => {
    const path = `topics/${topic}/messages`;
    return (await expect200<{ messages: PublishedMessage[] }>("POST", path, { messages })).messages;
  };

  const receive: Api["receive"] = (topic, group, input = {}) =>
    expect200("POST", `topics/${topic}/groups/${group}/receive`, { subscriber: "s1", ...input });

  const receiveCount: Api["receiveCount"] = async (topic, group, count, input = {}) => {
    const deliveries: Delivery[] = [];
    const endMs = Date.now() + RECEIVE_COUNT_DEADLINE_MS;
    while (deliveries.length < count && Date.now() < endMs) {
      const maxMessages = Math.min(100, count - deliveries.length);
      const reply = await receive(topic, group, { waitMs: 1000, maxMessages, ...input });
      deliveries.push(...reply.deliveries);
    }
    expect(
      deliveries.map((delivery) => delivery.id),
      `${count} deliveries of ${topic} to ${group}`,
    ).toHaveLength(count);
    return deliveries;
  };

  const settle: Api["settle"] = async (topic, group, settlements, subscriber) => {
    const path = `topics/${topic}/groups/${group}/settle`;
    const json = subscriber === undefined ? { settlements } : { subscriber, settlements };
    return (await expect200<{ results: SettleResult[] }>("POST", path, json)).results;
  };

  async function listAll<T>(path: string, name: string): Promise<T[]> {
    const rows: T[] = [];
    let after = "";
    while (rows.length < MAX_LISTED) {
      const page = await expect200<Record<string, unknown>>("GET", `${path}?limit=100${after}`);
      rows.push(...(page[name] as T[]));
      if (page.next === null) return rows;
      after = `&after=${encodeURIComponent(String(page.next))}`;
    }
    throw new Error(`${path} has more than ${MAX_LISTED} rows`);
  }

  return {
    request,
    publish,
    receive,
    receiveCount,
    settle,
    settleOne: async (topic, group, settlement) => {
      const [result] = await settle(topic, group, [settlement]);
      return result?.status ?? expect.fail("settle answered no result");
    },
    ack: async (topic, group, deliveries) => {
      const settlements = deliveries.map(({ receipt }) => ({ receipt, action: "ack" }));
      const results = await settle(topic, group, settlements);
      expect(results).toEqual(deliveries.map(({ receipt }) => ({ receipt, status: "ok" })));
    },
    putGroup: (topic, group, settings = {}) => expect200("PUT", `topics/${topic}/groups/${group}`, settings),
    putTopic: (topic, settings) => expect200("PUT", `topics/${topic}`, settings),
    getTopic: (topic) => expect200("GET", `topics/${topic}`),
    listMessages: (topic) => listAll(`topics/${topic}/messages`, "messages"),
    deadLetters: (topic) => listAll(`topics/${topic}/dead-letters`, "deadLetters"),
  };
}
