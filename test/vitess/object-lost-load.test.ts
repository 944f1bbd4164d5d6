import { afterAll, beforeAll, expect, test } from "vitest";
import type { Api } from "../live/api.ts";
import type { Live } from "../live/harness.ts";
import { type Seeded, seeded, seedFrom } from "../live/seeded.ts";
import type { Delivery } from "../live/wire.ts";
import { ServerPlace } from "./server-place.ts";

// The tenant object is lost again and again in the middle of random traffic.

const TOPIC = "orders";
const LOSSES = 2;
const BETWEEN_LOSSES_MS = 7000;
/** What was acked so long before a loss does not come again. */
const SAVED_AFTER_MS = 5000;
const VISIBILITY_TIMEOUT_MS = 1500;
const DRAIN_DEADLINE_MS = 20_000;
const MAX_BACKLOG = 60;
const PARTITIONS = ["k0", "k1", "k2"];

let place: ServerPlace;
let live: Live;
beforeAll(async () => {
  place = await ServerPlace.start({ durable: false });
  live = await place.server(await place.database());
});
afterAll(async () => {
  await live?.close();
  await place?.stop();
});

/** What one group saw; message IDs are `<partition>/<place>`. */
class Reader {
  readonly problems: string[] = [];
  readonly everAcked = new Set<string>();
  /** Must not come again; with when the ack was answered. */
  private readonly settled = new Map<string, number>();
  readonly group: string;
  readonly isStrict: boolean;

  constructor(group: string, isStrict: boolean) {
    this.group = group;
    this.isStrict = isStrict;
  }

  acked(id: string): void {
    this.everAcked.add(id);
    this.settled.set(id, Date.now());
  }

  /** What was acked a moment ago may come again from now on, until it is acked anew. */
  objectLost(): void {
    const savedByMs = Date.now() - SAVED_AFTER_MS;
    for (const [id, atMs] of this.settled) if (atMs > savedByMs) this.settled.delete(id);
  }

  saw({ id, partitionKey, attempt }: Delivery): void {
    const ackedAtMs = this.settled.get(id);
    if (ackedAtMs !== undefined) {
      const agoMs = Date.now() - ackedAtMs;
      this.problems.push(`${this.group}: ${id} came again as attempt ${attempt}, acked ${agoMs} ms ago`);
    }
    for (let before = Number(id.split("/")[1]) - 1; this.isStrict && before >= 0; before--) {
      if (this.everAcked.has(`${partitionKey}/${before}`)) continue;
      this.problems.push(`${this.group}: ${id} came before ${partitionKey}/${before} was settled`);
    }
  }

  /** Receives once; acks most of it, and everything when `all`. */
  async round(api: Api, random: Seeded, all: boolean): Promise<void> {
    const asked = {
      maxMessages: random.between(1, 20),
      visibilityTimeoutMs: VISIBILITY_TIMEOUT_MS,
      waitMs: all ? 0 : 100,
    };
    const { deliveries } = await api.receive(TOPIC, this.group, asked);
    for (const delivery of deliveries) this.saw(delivery);
    const acks: Delivery[] = [];
    const settlements = deliveries.flatMap((delivery) => {
      const luck = all ? 1 : random.fraction();
      // The rest is left to lapse.
      if (luck < 0.05) return [];
      if (luck < 0.2) return [{ receipt: delivery.receipt, action: "nack", delayMs: 0 }];
      acks.push(delivery);
      return [{ receipt: delivery.receipt, action: "ack" }];
    });
    if (settlements.length === 0) return;
    const results = await api.settle(TOPIC, this.group, settlements);
    for (const { id, receipt } of acks) {
      const status = results.find((result) => result.receipt === receipt)?.status;
      if (status === "ok") this.acked(id);
    }
  }
}

test("the object is lost under load: nothing is lost, what was saved stays settled, strict lanes keep their order", async () => {
  const seed = seedFrom("LOSS_SEED");
  const random = seeded(seed);
  const api = live.api("demo");
  const readers = [new Reader("wide", false), new Reader("strict", true)];
  for (const { group, isStrict } of readers) {
    await api.putGroup(TOPIC, group, {
      maxAttempts: 1000,
      ...(isStrict ? { maxInFlightPerPartition: 1 } : {}),
    });
  }
  const published = new Map(PARTITIONS.map((partitionKey) => [partitionKey, 0]));
  const count = () => [...published.values()].reduce((sum, places) => sum + places, 0);
  const publish = async () => {
    // A strict lane takes one message at a time; the test is about what is kept, not about how fast.
    if (readers.some(({ everAcked }) => count() - everAcked.size > MAX_BACKLOG)) return;
    const partitionKey = random.pick(PARTITIONS);
    const first = published.get(partitionKey) ?? 0;
    const more = random.between(1, 3);
    const messages = Array.from({ length: more }, (_, i) => ({
      id: `${partitionKey}/${first + i}`,
      partitionKey,
      body: i,
    }));
    await api.publish(TOPIC, messages);
    published.set(partitionKey, first + more);
  };
  for (let loss = 0; loss < LOSSES; loss++) {
    for (const endMs = Date.now() + BETWEEN_LOSSES_MS; Date.now() < endMs; ) {
      await publish();
      for (const reader of readers) await reader.round(api, random, false);
    }
    await live.kill();
    for (const reader of readers) reader.objectLost();
    await live.loseObjects();
    await live.restart();
  }
  const all = [...published].flatMap(([key, count]) =>
    Array.from({ length: count }, (_, n) => `${key}/${n}`),
  );
  const isDrained = async () =>
    (await api.getTopic(TOPIC)).groups.every(({ backlog }) => backlog === 0) &&
    readers.every(({ everAcked }) => all.every((id) => everAcked.has(id)));
  for (const endMs = Date.now() + DRAIN_DEADLINE_MS; Date.now() < endMs && !(await isDrained()); ) {
    for (const reader of readers) await reader.round(api, random, true);
  }
  console.log(JSON.stringify({ losses: LOSSES, published: all.length }));
  for (const { group, problems, everAcked } of readers) {
    expect(problems.slice(0, 10), `seed ${seed}`).toEqual([]);
    expect(
      all.filter((id) => !everAcked.has(id)),
      `lost for ${group}, seed ${seed}`,
    ).toEqual([]);
  }
  expect((await api.getTopic(TOPIC)).groups.map(({ backlog }) => backlog)).toEqual([0, 0]);
  expect(all.length).toBeGreaterThan(50);
}, 90_000);
