import { setTimeout as pause } from "node:timers/promises";
import { type QueueClient, type Target, withClient } from "../load/queue-client.ts";
import { PARTITIONS } from "../phases/end-to-end.ts";
import { TENANT } from "../server.ts";
import { median, ratioOfMedians } from "../statistics.ts";
import { addCosts, type Cost, type CostMeter, costEach, NO_COST, withCostMeter } from "./cost.ts";
import { type Fill, fillMessages, fillSettled } from "./fill.ts";
import { type ServedPlace, type VitessPlace, withServedPlace } from "./place.ts";

const RECEIVES = 50;
const RECEIVE_MESSAGES = 10;
const TOPIC = "growth";
const GROUP = "workers";
const SUBSCRIBER = "worker-0";
/** Longer than the pause before the object reads ahead by itself, so that such reads are counted apart. */
const BETWEEN_MS = 40;
/** What is delivered is older than the commit horizon; what is settled, older still. */
const AGE_MS = 10 * 60_000;
const SETTLED_AGE_MS = 40 * 60_000;
/** A receive that read fewer rows had no settled ones left to read. */
const FEW_ROWS = 50;
const RECOVERED_AFTER = 3;
const MAX_RECOVERY_MS = 10 * 60_000;
const RECOVERY_PAUSE_MS = 5;

export interface VitessGrowthSize {
  smallBacklog: number;
  largeBacklog: number;
  fewPartitions: number;
  manyPartitions: number;
  /** Messages in both, so that only the number of partitions differs. */
  partitionsBacklog: number;
  fewRetained: number;
  manyRetained: number;
}

export interface VitessGrowthFigures {
  /** Ratios of the medians of rows read in the database plus statements, of one receive of 10. */
  backlog: number;
  partitions: number;
  retained: number;
  cases: Record<GrowthCase, ReceiveCost>;
}

export type GrowthCase =
  | "smallBacklog"
  | "largeBacklog"
  | "fewPartitions"
  | "manyPartitions"
  | "fewRetained"
  | "manyRetained";

/** Of one receive of 10. */
export interface ReceiveCost {
  /** Medians, in the database. */
  rowsRead: number;
  statements: number;
  /** Means, with what the object reads ahead for later ones between two of them. */
  meanRowsRead: number;
  meanStatements: number;
}

interface Receives {
  /** Rows read and statements together, of each. */
  costs: number[];
  receive: ReceiveCost;
}

type WithPlace = <T>(use: (place: VitessPlace) => Promise<T>) => Promise<T>;
type Served<T> = (target: Target, client: QueueClient, meter: CostMeter) => Promise<T>;

/** `withPlace` gives each case a database of its own. */
export async function measureVitessGrowth(
  withPlace: WithPlace,
  size: VitessGrowthSize,
  progress: (line: string) => void,
): Promise<VitessGrowthFigures> {
  const backlogOf = (backlog: number, partitions: number) =>
    withPlace((place) => costsOfBacklog(place, backlog, partitions, progress));
  const retainedOf = (retained: number) =>
    withPlace((place) => costsBesideRetained(place, retained, size.smallBacklog, progress));
  const small = await backlogOf(size.smallBacklog, PARTITIONS);
  const few = await backlogOf(size.partitionsBacklog, size.fewPartitions);
  const many = await backlogOf(size.partitionsBacklog, size.manyPartitions);
  const besideFew = await retainedOf(size.fewRetained);
  const besideMany = await retainedOf(size.manyRetained);
  const large = await backlogOf(size.largeBacklog, PARTITIONS);
  return {
    backlog: ratioOfMedians(large.costs, small.costs),
    partitions: ratioOfMedians(many.costs, few.costs),
    retained: ratioOfMedians(besideMany.costs, besideFew.costs),
    cases: {
      smallBacklog: small.receive,
      largeBacklog: large.receive,
      fewPartitions: few.receive,
      manyPartitions: many.receive,
      fewRetained: besideFew.receive,
      manyRetained: besideMany.receive,
    },
  };
}

async function costsOfBacklog(
  place: VitessPlace,
  backlog: number,
  partitions: number,
  progress: (line: string) => void,
): Promise<Receives> {
  return served(place, async (target, client, meter) => {
    await makeGroup(client);
    await fillMessages(place, backlogFill(target, 0, backlog, partitions));
    await meter.take();
    return countReceives(client, meter, `backlog ${backlog} in ${partitions} partitions`, progress);
  });
}

/**
 * The settled ones and their checkpoints are there before the object, which has to find that out: it reads them
 * once. What it is to deliver comes afterwards.
 */
async function costsBesideRetained(
  place: VitessPlace,
  retained: number,
  backlog: number,
  progress: (line: string) => void,
): Promise<Receives> {
  await served(place, (_target, client) => makeGroup(client));
  const settled: Fill = {
    topic: TOPIC,
    first: 0,
    count: retained,
    partitions: retained,
    prefix: "retained",
    ageMs: SETTLED_AGE_MS,
  };
  await fillSettled(place, settled, GROUP);
  return served(place, async (target, client, meter) => {
    await recover(client, meter, progress);
    await fillMessages(place, backlogFill(target, retained, backlog, PARTITIONS));
    await meter.take();
    return countReceives(client, meter, `${retained} retained keys`, progress);
  });
}

function backlogFill(target: Target, first: number, count: number, partitions: number): Fill {
  return { topic: target.topic, first, count, partitions, prefix: "p", ageMs: AGE_MS };
}

async function makeGroup(client: QueueClient): Promise<void> {
  await client.call("PUT", `topics/${TOPIC}`, {});
  await client.call("PUT", `topics/${TOPIC}/groups/${GROUP}`, {});
}

async function served<T>(place: VitessPlace, use: Served<T>): Promise<T> {
  return withServedPlace(place, { metered: true }, (running: ServedPlace) =>
    withCostMeter(running, (meter) => {
      const target: Target = { url: running.url, token: running.token, tenant: TENANT, topic: TOPIC };
      return withClient(target, (client) => use(target, client, meter));
    }),
  );
}

/** Until the object has read everything that was settled before its life. */
async function recover(
  client: QueueClient,
  meter: CostMeter,
  progress: (line: string) => void,
): Promise<void> {
  const startedAtMs = performance.now();
  let spent = NO_COST;
  for (let quiet = 0; quiet < RECOVERED_AFTER; ) {
    if (performance.now() - startedAtMs > MAX_RECOVERY_MS) throw new Error("the object does not recover");
    const { receipts } = await client.receive(GROUP, SUBSCRIBER, 100, 0);
    if (receipts.length > 0) throw new Error("a message that was settled came again");
    await pause(RECOVERY_PAUSE_MS);
    const cost = await meter.take();
    spent = addCosts(spent, cost);
    quiet = cost.rowsRead < FEW_ROWS ? quiet + 1 : 0;
  }
  const seconds = ((performance.now() - startedAtMs) / 1000).toFixed(1);
  progress(
    `recovered in ${seconds} s: ${spent.rowsRead} rows read by ${spent.statements} statements, ` +
      `${spent.objectWritten} written in the object`,
  );
}

/** Each receive is counted by itself; its settling is left out. */
async function countReceives(
  client: QueueClient,
  meter: CostMeter,
  what: string,
  progress: (line: string) => void,
): Promise<Receives> {
  const receives: Cost[] = [];
  let background = NO_COST;
  for (let receive = 0; receive <= RECEIVES; receive++) {
    await pause(BETWEEN_MS);
    const between = await meter.take();
    const { receipts } = await client.receive(GROUP, SUBSCRIBER, RECEIVE_MESSAGES, 0);
    const cost = await meter.take();
    if (receipts.length !== RECEIVE_MESSAGES) {
      throw new Error(`receive ${receive} got ${receipts.length} of ${RECEIVE_MESSAGES} messages`);
    }
    await client.settle(GROUP, SUBSCRIBER, receipts);
    await meter.take();
    // The first one finds the lanes.
    if (receive === 0) continue;
    receives.push(cost);
    background = addCosts(background, between);
  }
  const of = (name: keyof Cost) => median(receives.map((cost) => cost[name]));
  const mean = costEach(receives.reduce(addCosts, background), RECEIVES);
  const receive: ReceiveCost = {
    rowsRead: of("rowsRead"),
    statements: of("statements"),
    meanRowsRead: mean.rowsRead,
    meanStatements: mean.statements,
  };
  progress(
    `${what}: a receive reads ${receive.rowsRead} rows by ${receive.statements} statements, and in the object ` +
      `${of("objectRead")} read, ${of("objectWritten")} written; mean with reading ahead between two of them ` +
      `${mean.rowsRead} rows by ${mean.statements} statements`,
  );
  return { costs: receives.map(({ rowsRead, statements }) => rowsRead + statements), receive };
}
