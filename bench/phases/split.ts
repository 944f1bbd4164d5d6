import { applicationSubscribers, Flow, type FlowSubscriber } from "../load/flow.ts";
import { MessageSource } from "../load/messages.ts";
import { withClient } from "../load/queue-client.ts";
import { TENANT, withServer } from "../server.ts";
import { median } from "../statistics.ts";
import { PARTITIONS, warmUpAndWatch } from "./end-to-end.ts";

/** As many as a group may have. */
const ROUTES = 20;
/** One message of so many is a route's: a fifth of all. */
const OF_EACH = 100;
const APPLICATION_SUBSCRIBERS = 4;
const TTL_MS = 600_000;

export interface SplitFigures {
  /** Settled messages a second with 20 routes, each with a subscriber, against the same without routes. */
  ratio: number;
  /** Medians over the pairs. */
  plainRate: number;
  splitRate: number;
  /** What it takes to start a route and to end it, on a server that does nothing else. Medians, and the slowest. */
  startMs: number;
  slowestStartMs: number;
  endMs: number;
  slowestEndMs: number;
}

/** Both with the same messages, headers and number of subscribers, in turns. */
export async function measureSplit(size: {
  pairs: number;
  windowMs: number;
  starts: number;
}): Promise<SplitFigures> {
  const plain: number[] = [];
  const split: number[] = [];
  for (let pair = 0; pair < size.pairs; pair++) {
    plain.push(await rateOf(false, size.windowMs));
    split.push(await rateOf(true, size.windowMs));
  }
  const { starts, ends } = await measureStarts(size.starts);
  const [plainRate, splitRate] = [median(plain), median(split)];
  return {
    ratio: splitRate / plainRate,
    plainRate,
    splitRate,
    startMs: median(starts),
    slowestStartMs: Math.max(...starts),
    endMs: median(ends),
    slowestEndMs: Math.max(...ends),
  };
}

const routeOf = (number: number) => `dev-${number}`;
const filterOf = (route: string) => ({ header: "x-dev", equals: route });

function headersOf(number: number): string {
  const place = number % OF_EACH;
  return `{"x-trace":"${number}","x-dev":"${place < ROUTES ? routeOf(place) : "nobody"}"}`;
}

function subscribers(isSplit: boolean): FlowSubscriber[] {
  const application = applicationSubscribers(APPLICATION_SUBSCRIBERS);
  const developers = Array.from({ length: ROUTES }, (_, number) => routeOf(number));
  return [...application, ...developers.map((name) => ({ name, route: isSplit ? name : null }))];
}

async function rateOf(isSplit: boolean, windowMs: number): Promise<number> {
  return withServer(null, async ({ url, token }) => {
    const target = { url, token, tenant: TENANT, topic: "split" };
    const group = "workers";
    if (isSplit) {
      await withClient(target, async (client) => {
        for (let number = 0; number < ROUTES; number++) {
          const route = routeOf(number);
          const body = { filter: filterOf(route), ttlMs: TTL_MS };
          await client.call("PUT", `topics/${target.topic}/groups/${group}/routes/${route}`, body);
        }
      });
    }
    const source = new MessageSource(PARTITIONS, "p", 0, headersOf);
    const flow = new Flow({
      target,
      group,
      source,
      ratePerSecond: null,
      subscribers: subscribers(isSplit),
    });
    return (await warmUpAndWatch(flow, windowMs)).rate;
  });
}

/** The first of all is the one that makes the topic and the group: it does not count. */
async function measureStarts(count: number): Promise<{ starts: number[]; ends: number[] }> {
  return withServer(null, async ({ url, token }) =>
    withClient({ url, token, tenant: TENANT, topic: "idle" }, async (client) => {
      const starts: number[] = [];
      const ends: number[] = [];
      const path = (number: number) => `topics/idle/groups/workers/routes/${routeOf(number)}`;
      for (let number = 0; number <= count; number++) {
        const body = { filter: filterOf(routeOf(number)), ttlMs: TTL_MS };
        const beganMs = performance.now();
        await client.call("PUT", path(number), body);
        const startedMs = performance.now();
        await client.delete(path(number));
        if (number === 0) continue;
        starts.push(startedMs - beganMs);
        ends.push(performance.now() - startedMs);
      }
      return { starts, ends };
    }),
  );
}
