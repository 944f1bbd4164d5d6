import { setTimeout as pause } from "node:timers/promises";
import type { Delivery, TenantApi } from "./api.ts";
import { orderEvents, poisonEvent, type ShopEvent, stockEvents } from "./events.ts";
import type { Narrator } from "./narrator.ts";

const GROUP = "fulfilment";
const SETTINGS = {
  leaseDurationMs: 6000,
  visibilityTimeoutMs: 6000,
  maxAttempts: 3,
  retry: { initialBackoffMs: 500, multiplier: 2, maxBackoffMs: 2000 },
};
/** A chapter that takes longer than this has gone wrong. */
const CHAPTER_MS = 60_000;

/** Publishes in batches of at most 20 with a breath between, as real events come. */
async function publishAll(api: TenantApi, topic: string, events: readonly ShopEvent[]): Promise<void> {
  for (let at = 0; at < events.length; at += 20) {
    await api.publish(topic, events.slice(at, at + 20));
    await pause(400);
  }
}

/** Receives and acks until `wanted` different messages were handled or the chapter's time is over. */
async function consume(
  api: TenantApi,
  topic: string,
  subscriber: string,
  wanted: ReadonlySet<string>,
  handled: Delivery[],
): Promise<void> {
  const endAtMs = Date.now() + CHAPTER_MS;
  const missing = () => [...wanted].some((id) => !handled.some((delivery) => delivery.id === id));
  while (missing() && Date.now() < endAtMs) {
    const deliveries = await api.receive(topic, GROUP, subscriber, 1000);
    if (deliveries.length === 0) continue;
    await pause(150);
    handled.push(...deliveries);
    await api.settle(
      topic,
      GROUP,
      subscriber,
      deliveries.map(({ receipt }) => ({ receipt, action: "ack" })),
    );
  }
}

export async function orderedPartitions(
  narrator: Narrator,
  api: TenantApi,
  topic: string,
  run: string,
): Promise<void> {
  narrator.chapter(`${api.tenant}: twelve orders, five events each, two workers`);
  await api.putGroup(topic, GROUP, SETTINGS);
  const events = orderEvents(run, 12);
  const handled: Delivery[] = [];
  const ids = new Set(events.map(({ id }) => id));
  await Promise.all([
    publishAll(api, topic, events),
    consume(api, topic, "worker-1", ids, handled),
    consume(api, topic, "worker-2", ids, handled),
  ]);
  const steps = new Map<string, number[]>();
  for (const { partitionKey, body } of handled) {
    steps.set(partitionKey, [...(steps.get(partitionKey) ?? []), Number(body.step)]);
  }
  const inOrder = [...steps.values()].every((seen) => seen.every((step, at) => step === at));
  narrator.say(`for example ${[...steps.keys()][0]}: steps ${[...steps.values()][0]?.join(" ")}`);
  narrator.check(
    "every event of every order came once",
    handled.length === events.length,
    `${handled.length} of ${events.length}`,
  );
  narrator.check("each order's events came in order", inOrder, `${steps.size} orders`);
  await Promise.all(["worker-1", "worker-2"].map((worker) => api.leave(topic, GROUP, worker)));
}

export async function crashedConsumer(
  narrator: Narrator,
  api: TenantApi,
  topic: string,
  run: string,
): Promise<void> {
  narrator.chapter(`${api.tenant}: a worker takes messages and dies`);
  await api.putGroup(topic, GROUP, SETTINGS);
  const events = orderEvents(`${run}-crash`, 3);
  await publishAll(api, topic, events);
  const taken = await api.receive(topic, GROUP, "worker-doomed", 5000);
  narrator.say(`worker-doomed took ${taken.length} messages and is never heard of again`);
  narrator.say(
    `its lanes are free after ${SETTINGS.leaseDurationMs} ms without a heartbeat, its deliveries come again`,
  );
  const handled: Delivery[] = [];
  const startedAtMs = Date.now();
  await consume(api, topic, "worker-1", new Set(events.map(({ id }) => id)), handled);
  const again = handled.filter(({ attempt }) => attempt === 2);
  narrator.say(`worker-1 had everything after ${((Date.now() - startedAtMs) / 1000).toFixed(1)} s`);
  const lost = events.filter(({ id }) => !handled.some((delivery) => delivery.id === id));
  narrator.check(
    "nothing was lost with the worker",
    lost.length === 0,
    `${handled.length} handled, ${lost.length} lost`,
  );
  narrator.check(
    "what it held came again as attempt 2",
    again.length === taken.length,
    `${again.length} of ${taken.length}`,
  );
  await api.leave(topic, GROUP, "worker-1");
}

export async function poisonMessage(
  narrator: Narrator,
  api: TenantApi,
  topic: string,
  run: string,
): Promise<void> {
  narrator.chapter(`${api.tenant}: a message that its consumer cannot read`);
  const poison = poisonEvent(run);
  await api.publish(topic, [poison]);
  const failures = await failUntilDead(narrator, api, topic, poison.id);
  const { deadLetters } = await api.deadLetters(topic);
  const dead = deadLetters.find(({ id }) => id === poison.id);
  narrator.check("it was tried three times", failures === 3, `${failures} attempts`);
  narrator.check(
    "it is a dead letter with the consumer's reason",
    dead?.reason === "schema 4 is not supported",
    `${dead?.reason}`,
  );
  narrator.say("the consumer learns schema 4 and is deployed; the dead letter is redriven");
  const { redriven } = await api.redrive(topic, [{ id: poison.id, partitionKey: poison.partitionKey }]);
  const handled: Delivery[] = [];
  await consume(api, topic, "worker-1", new Set([poison.id]), handled);
  const left = (await api.deadLetters(topic)).deadLetters.filter(({ id }) => id === poison.id).length;
  narrator.check("redriven, it was handled at attempt 1", handled[0]?.attempt === 1, `${redriven} redriven`);
  narrator.check("it left the dead letters", left === 0, `${left} left`);
  await api.leave(topic, GROUP, "worker-1");
}

async function failUntilDead(narrator: Narrator, api: TenantApi, topic: string, id: string): Promise<number> {
  let failures = 0;
  for (const endAtMs = Date.now() + CHAPTER_MS; Date.now() < endAtMs; ) {
    for (const delivery of await api.receive(topic, GROUP, "worker-1", 1000)) {
      if (delivery.id !== id) continue;
      failures += 1;
      const nack = {
        receipt: delivery.receipt,
        action: "nack",
        reason: "schema 4 is not supported",
      } as const;
      const { results } = await api.settle(topic, GROUP, "worker-1", [nack]);
      narrator.say(`attempt ${delivery.attempt} failed: schema 4 is not supported`);
      if (results[0]?.deadLettered) return failures;
    }
  }
  return failures;
}

/** One tenant's consumer fails for every message while two others work; their waits must not grow. */
export async function failingNeighbour(
  narrator: Narrator,
  failing: TenantApi,
  others: readonly TenantApi[],
  topic: string,
  run: string,
  durationMs: number,
): Promise<void> {
  narrator.chapter(
    `${failing.tenant}'s consumer fails for every message; ${others.map(({ tenant }) => tenant).join(" and ")} go on`,
  );
  await Promise.all([failing, ...others].map((api) => api.putGroup(topic, GROUP, SETTINGS)));
  const endAtMs = Date.now() + durationMs;
  const failures = { count: 0 };
  const flows = others.map(() => ({ published: 0, handled: 0, slowestMs: 0 }));
  await Promise.all([
    keepFailing(failing, topic, run, endAtMs, failures),
    ...others.map((api, at) => keepFlowing(api, topic, run, endAtMs, flows[at] as Flow)),
  ]);
  narrator.say(`${failing.tenant}: ${failures.count} failed deliveries`);
  for (const [at, { tenant }] of others.entries()) {
    const flow = flows[at] as Flow;
    narrator.check(
      `${tenant} got all of its messages meanwhile`,
      flow.handled === flow.published && flow.published > 0,
      `${flow.handled} of ${flow.published}, the slowest after ${flow.slowestMs} ms`,
    );
  }
  narrator.check(`${failing.tenant}'s trouble was real`, failures.count > 0, `${failures.count} failures`);
}

interface Flow {
  published: number;
  handled: number;
  slowestMs: number;
}

async function keepFailing(
  api: TenantApi,
  topic: string,
  run: string,
  endAtMs: number,
  failures: { count: number },
): Promise<void> {
  for (let round = 0; Date.now() < endAtMs; round += 1) {
    await api.publish(topic, stockEvents(run, round * 10, 10));
    const deliveries = await api.receive(topic, GROUP, "worker-broken", 500);
    failures.count += deliveries.length;
    await pause(200);
    if (deliveries.length === 0) continue;
    await api.settle(
      topic,
      GROUP,
      "worker-broken",
      deliveries.map(({ receipt }) => ({
        receipt,
        action: "nack",
        reason: "connection to the warehouse refused",
      })),
    );
  }
}

async function keepFlowing(
  api: TenantApi,
  topic: string,
  run: string,
  endAtMs: number,
  flow: Flow,
): Promise<void> {
  for (let round = 0; Date.now() < endAtMs; round += 1) {
    const events = stockEvents(run, round * 4, 4);
    const publishedAtMs = Date.now();
    await api.publish(topic, events);
    flow.published += events.length;
    const handled: Delivery[] = [];
    await consume(api, topic, "worker-1", new Set(events.map(({ id }) => id)), handled);
    flow.handled += handled.length;
    flow.slowestMs = Math.max(flow.slowestMs, Date.now() - publishedAtMs);
    await pause(600);
  }
}
