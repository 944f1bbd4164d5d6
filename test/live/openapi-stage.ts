import { expect } from "vitest";
import { only, until } from "./harness.ts";
import type { DocumentedCalls, Request } from "./openapi-request.ts";
import type { Delivery } from "./wire.ts";

// What scenes are made of, by documented calls alone.

/** Makes what a request is about. */
export type Ready = (calls: DocumentedCalls, request: Request) => Promise<void>;

let made = 0;

/** A valid name that was not there before. */
export function fresh(name: string): string {
  made += 1;
  return `${name.slice(0, 100)}-${made}`;
}

const groupsMade: Record<string, string>[] = [];

/** A group that nobody used before, named like the one that was asked for. */
export function takeFreshGroup(params: Record<string, string>): void {
  params.group = fresh(params.group ?? "g");
  groupsMade.push({ ...params });
}

/** A topic has only so many groups: those of the last scene go, and the one that its request named. */
export async function forgetGroups(calls: DocumentedCalls, named: Record<string, string>): Promise<void> {
  for (const params of [...groupsMade.splice(0), ...("group" in named ? [named] : [])]) {
    const reply = await calls.send("deleteGroup", { params, query: { force: true } });
    expect([204, 404], reply.text).toContain(reply.status);
  }
}

export async function ok<T = Record<string, unknown>>(
  calls: DocumentedCalls,
  id: string,
  request: Partial<Request>,
): Promise<T> {
  const reply = await calls.send<T>(id, request);
  expect([200, 204], `${id}: ${reply.text}`).toContain(reply.status);
  return reply.json;
}

interface Published {
  messages: { id: string; partitionKey: string }[];
}

export function publish(calls: DocumentedCalls, { params }: Request, messages: object[]): Promise<Published> {
  return ok<Published>(calls, "publish", { params, body: { messages } });
}

/** One message with this ID and key; for a spread lane, one that the server puts there. */
export async function publishNamed(
  calls: DocumentedCalls,
  request: Request,
  named: Record<string, unknown>,
): Promise<void> {
  const id = named.id ?? fresh("id");
  const isSpread = String(named.partitionKey).startsWith("~");
  const message = { id, ...(isSpread ? {} : { partitionKey: named.partitionKey }), body: 1 };
  const { partitionKey } = only((await publish(calls, request, [message])).messages);
  named.partitionKey = partitionKey;
}

/** Deliveries of `count` new messages to a group of their own. */
export async function deliver(
  calls: DocumentedCalls,
  request: Request,
  count: number,
  subscriber = "s",
): Promise<Delivery[]> {
  const { params } = request;
  takeFreshGroup(params);
  await ok(calls, "purgeMessages", { params: await withTopic(calls, params) });
  const messages = Array.from({ length: count }, () => ({
    id: fresh("id"),
    partitionKey: fresh("k"),
    body: made,
  }));
  await publish(calls, request, messages);
  const body = { subscriber, maxMessages: 100, waitMs: 1000 };
  const { deliveries } = await ok<{ deliveries: Delivery[] }>(calls, "receive", { params, body });
  expect(deliveries.length).toBeGreaterThan(0);
  return deliveries;
}

export async function withTopic(
  calls: DocumentedCalls,
  params: Record<string, string>,
): Promise<Record<string, string>> {
  await ok(calls, "putTopic", { params, body: {} });
  return params;
}

export const topicThere: Ready = async (calls, { params }) => {
  await withTopic(calls, params);
};
export const groupThere: Ready = async (calls, { params }) => {
  await ok(calls, "putGroup", { params, body: { leaseDurationMs: 30_000 } });
};
export const delivered: Ready = async (calls, request) => {
  await deliver(calls, request, 2);
};
export const leased = async (calls: DocumentedCalls, request: Request): Promise<string> =>
  (await deliver(calls, request, 1))[0]?.partitionKey ?? expect.fail("one delivery");

/** A route that takes every message, of a group of its own. */
export async function routed(calls: DocumentedCalls, { params }: Request, route: string): Promise<void> {
  await ok(calls, "putRoute", { params: { ...params, route }, body: { filter: { everything: true } } });
}
export const routeThere: Ready = async (calls, request) => {
  takeFreshGroup(request.params);
  await routed(calls, request, request.params.route ?? "r");
};

interface DeadLetter {
  id: string;
  partitionKey: string;
  group: string;
}

/** Dead letters of two messages. */
export async function rejected(calls: DocumentedCalls, request: Request): Promise<DeadLetter[]> {
  const params: Record<string, string> = { ...request.params, group: "g" };
  const deliveries = await deliver(calls, { ...request, params }, 2);
  const settlements = deliveries.map(({ receipt }) => ({ receipt, action: "reject", reason: "no" }));
  await ok(calls, "settle", { params, body: { settlements } });
  const wanted = new Set(deliveries.map(({ id }) => id));
  return until("the dead letters", async () => {
    const page = await ok<{ deadLetters: DeadLetter[] }>(calls, "deadLetters", { params });
    const found = page.deadLetters.filter(({ id }) => wanted.has(id));
    return found.length === wanted.size ? found : null;
  });
}
