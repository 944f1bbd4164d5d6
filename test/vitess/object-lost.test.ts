import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { Api } from "../live/api.ts";
import { freshTopic, ids, type Live, numbered, only, until, untilClock } from "../live/harness.ts";
import { expectProblem } from "../live/problem.ts";
import type { Delivery, WireTopic } from "../live/wire.ts";
import { ServerPlace } from "./server-place.ts";

// The tenant object's storage is wiped while the log stays. What design.md says comes again comes, and nothing else.

/** What was settled so long before is in the log. */
const SAVED_AFTER_MS = 5000;
/** Not due yet when the object is lost. */
const LATER_MS = 12_000;

let place: ServerPlace;
let live: Live;
let api: Api;

async function loseObject(): Promise<void> {
  await live.kill();
  await live.loseObjects();
  await live.restart();
}

const settle = (topic: string, group: string, deliveries: Delivery[], action: string, more = {}) =>
  api.settle(
    topic,
    group,
    deliveries.map(({ receipt }) => ({ receipt, action, ...more })),
  );

const pick = (deliveries: Delivery[], ...wanted: string[]) =>
  wanted.map((id) => only(deliveries.filter((delivery) => delivery.id === id)));

/** What a group gets now, all of it, acked; `id#attempt`. Ends when nothing more comes for a while. */
async function drained(topic: string, group: string): Promise<string[]> {
  const seen: string[] = [];
  for (;;) {
    const { deliveries } = await api.receive(topic, group, { maxMessages: 100, waitMs: 300 });
    if (deliveries.length === 0) return seen;
    seen.push(...deliveries.map(({ id, attempt }) => `${id}#${attempt}`));
    await api.ack(topic, group, deliveries);
  }
}

/** What happens to a topic before the object is lost; returns what must hold after. */
const STORIES: Record<string, (topic: string) => Promise<() => Promise<void>>> = {
  "what was acked does not come again, what was not comes in order, and attempts restart": async (topic) => {
    await api.putGroup(topic, "g", { maxInFlightPerPartition: 100 });
    await api.publish(topic, numbered(10, "k"));
    const deliveries = await api.receiveCount(topic, "g", 10);
    await api.ack(topic, "g", pick(deliveries, "m0", "m1", "m2", "m5", "m8"));
    await settle(topic, "g", pick(deliveries, "m3"), "nack", { delayMs: 0 });
    expect(only(await api.receiveCount(topic, "g", 1)).attempt).toBe(2);
    return async () => {
      expect(await drained(topic, "g")).toEqual(["m3#1", "m4#1", "m6#1", "m7#1", "m9#1"]);
      expect(await api.getTopic(topic)).toMatchObject({ groups: [{ backlog: 0, inFlight: 0 }] });
    };
  },

  "many partitions, and many acks above what is not": async (topic) => {
    await api.putGroup(topic, "g", { maxInFlightPerPartition: 1000 });
    const unacked: string[] = [];
    for (let batch = 0; batch < 6; batch++) {
      const messages = Array.from({ length: 100 }, (_, i) => ({
        id: `${batch}-${i}`,
        partitionKey: `k${i % 20}`,
        body: i,
      }));
      await api.publish(topic, messages);
    }
    const deliveries: Delivery[] = await api.receiveCount(topic, "g", 600);
    const acked: Delivery[] = [];
    for (const [n, delivery] of deliveries.entries()) {
      if (n % 7 === 3) unacked.push(`${delivery.id}#1`);
      else acked.push(delivery);
    }
    for (let n = 0; n < acked.length; n += 100) await api.ack(topic, "g", acked.slice(n, n + 100));
    return async () => expect((await drained(topic, "g")).sort()).toEqual(unacked.sort());
  },

  "a group that acked nothing begins at the beginning": async (topic) => {
    await api.publish(topic, numbered(5, "k"));
    expect(await api.receiveCount(topic, "made-by-receive", 5)).toHaveLength(5);
    await api.putGroup(topic, "never-received");
    return async () => {
      const all = ["m0#1", "m1#1", "m2#1", "m3#1", "m4#1"];
      expect(await drained(topic, "made-by-receive")).toEqual(all);
      expect(await drained(topic, "never-received")).toEqual(all);
    };
  },

  "a latest group does not get what was before it": async (topic) => {
    await api.publish(topic, numbered(3, "k", "before"));
    for (const group of ["reader", "idle"]) await api.putGroup(topic, group, { startFrom: "latest" });
    await api.publish(topic, numbered(3, "k", "after"));
    await api.ack(topic, "reader", (await api.receiveCount(topic, "reader", 3)).slice(0, 1));
    return async () => {
      expect(await drained(topic, "reader")).toEqual(["after1#1", "after2#1"]);
      expect(await drained(topic, "idle")).toEqual(["after0#1", "after1#1", "after2#1"]);
    };
  },

  "a strict group keeps its order, one at a time": async (topic) => {
    await api.putGroup(topic, "g", { maxInFlightPerPartition: 1 });
    await api.publish(topic, numbered(5, "k"));
    for (let n = 0; n < 2; n++) await api.ack(topic, "g", await api.receiveCount(topic, "g", 1));
    expect(ids(await api.receiveCount(topic, "g", 1))).toEqual(["m2"]);
    return async () => {
      for (const id of ["m2", "m3", "m4"]) {
        const { deliveries } = await api.receive(topic, "g", { maxMessages: 100, waitMs: 5000 });
        expect(deliveries.map((delivery) => `${delivery.id}#${delivery.attempt}`)).toEqual([`${id}#1`]);
        await api.ack(topic, "g", deliveries);
      }
    };
  },

  "settings of groups and topics are as before": async (topic) => {
    const settings = {
      visibilityTimeoutMs: 1234,
      leaseDurationMs: 4321,
      maxInFlightPerPartition: 7,
      maxAttempts: 9,
      retry: { initialBackoffMs: 11, multiplier: 1.5, maxBackoffMs: 222 },
      deadLetters: false,
      startFrom: "latest",
      paused: true,
    };
    await api.putTopic(topic, { retentionMs: 5_000_000, maxRetentionMs: 6_000_000 });
    await api.putGroup(topic, "by-admin", settings);
    await api.receive(topic, "by-receive");
    const read = async () => [
      await api.putTopic(topic, {}),
      (await api.request("GET", `topics/${topic}/groups/by-admin`)).json,
      (await api.request("GET", `topics/${topic}/groups/by-receive`)).json,
      (await api.request<{ topics: string[] }>("GET", "topics")).json.topics.includes(topic),
    ];
    const before = await read();
    expect(before[1]).toEqual({ ...settings, createdBy: "admin" });
    return async () => expect(await read()).toEqual(before);
  },

  "dead letters are there once, and their messages do not come again": async (topic) => {
    await api.publish(topic, numbered(4, "k"));
    const deliveries = await api.receiveCount(topic, "g", 4);
    await settle(topic, "g", pick(deliveries, "m1", "m2"), "reject", { reason: "no use" });
    await until("the copies", async () => (await api.deadLetters(topic)).length === 2);
    const before = await api.deadLetters(topic);
    return async () => {
      expect(await drained(topic, "g")).toEqual(["m0#1", "m3#1"]);
      expect(await api.deadLetters(topic)).toEqual(before);
      expect(await drained(`${topic}_dlq`, "inspect")).toEqual(["m1#1", "m2#1"]);
    };
  },

  "what was dropped stays dropped": async (topic) => {
    await api.putGroup(topic, "g", { deadLetters: false });
    await api.publish(topic, numbered(3, "k"));
    await settle(topic, "g", pick(await api.receiveCount(topic, "g", 3), "m1"), "reject", { reason: "no" });
    return async () => expect(await drained(topic, "g")).toEqual(["m0#1", "m2#1"]);
  },

  "a reset back stays": async (topic) => {
    await api.publish(topic, numbered(6, "k"));
    const deliveries = await api.receiveCount(topic, "g", 6);
    await api.ack(topic, "g", deliveries);
    const json = { partitionKey: "k", offset: only(pick(deliveries, "m2")).offset };
    const path = `topics/${topic}/groups/g/offset`;
    expect((await api.request("PUT", path, { json })).status).toBe(200);
    const again = await api.receiveCount(topic, "g", 3);
    await api.ack(topic, "g", pick(again, "m4"));
    return async () => expect(await drained(topic, "g")).toEqual(["m3#1", "m5#1"]);
  },

  "a reset forward stays": async (topic) => {
    await api.publish(topic, numbered(6, "k"));
    const deliveries = await api.receiveCount(topic, "g", 6);
    const json = { partitionKey: "k", offset: only(pick(deliveries, "m3")).offset };
    const path = `topics/${topic}/groups/g/offset`;
    expect((await api.request("PUT", path, { json })).status).toBe(200);
    return async () => expect(await drained(topic, "g")).toEqual(["m4#1", "m5#1"]);
  },

  "a deleted group stays deleted, and one made again begins anew": async (topic) => {
    await api.publish(topic, numbered(3, "k"));
    for (const group of ["gone", "made-again"]) {
      await api.ack(topic, group, await api.receiveCount(topic, group, 3));
      const path = `topics/${topic}/groups/${group}?force=true`;
      expect((await api.request("DELETE", path)).status).toBe(204);
    }
    await api.putGroup(topic, "made-again");
    return async () => {
      const json = { subscriber: "s1" };
      expectProblem(await api.request("POST", `topics/${topic}/groups/gone/receive`, { json }), "not-found");
      expect(await drained(topic, "made-again")).toEqual(["m0#1", "m1#1", "m2#1"]);
    };
  },

  "delayed messages come when they are due, but for those acked": async (topic) => {
    const delayed = (id: string, delayMs: number) => ({ id, partitionKey: "k", body: 1, delayMs });
    await api.publish(topic, [delayed("acked", 200), delayed("open", 210), delayed("later", LATER_MS)]);
    const laterAtMs = Date.now() + LATER_MS;
    await api.publish(topic, numbered(2, "k"));
    const deliveries = await api.receiveCount(topic, "g", 4);
    await api.ack(topic, "g", pick(deliveries, "acked", "m0"));
    return async () => {
      if (Date.now() < laterAtMs - 1000) {
        expect((await drained(topic, "g")).sort()).toEqual(["m1#1", "open#1"]);
        expect(Date.now()).toBeLessThan(laterAtMs);
        expect(ids(await api.receiveCount(topic, "g", 1))).toEqual(["later"]);
      } else expect((await drained(topic, "g")).sort()).toEqual(["later#1", "m1#1", "open#1"]);
      expect(Date.now()).toBeGreaterThanOrEqual(laterAtMs - 100);
    };
  },

  "a redriven message is for the group that failed it, and no other": async (topic) => {
    await api.putGroup(topic, "h");
    await api.publish(topic, numbered(2, "k"));
    await settle(topic, "g", await api.receiveCount(topic, "g", 2), "reject", { reason: "no use" });
    await api.ack(topic, "h", await api.receiveCount(topic, "h", 2));
    await until("the copies", async () => (await api.deadLetters(topic)).length === 2);
    const path = `topics/${topic}/dead-letters/redrive`;
    expect((await api.request("POST", path, { json: {} })).json).toEqual({ redriven: 2 });
    return async () => {
      expect(await drained(topic, "g")).toEqual(["m0#1", "m1#1"]);
      expect(await drained(topic, "h")).toEqual([]);
    };
  },

  "what was purged does not come": async (topic) => {
    await api.putGroup(topic, "g");
    await api.publish(topic, numbered(3, "k"));
    await api.receiveCount(topic, "g", 2);
    expect((await api.request("DELETE", `topics/${topic}/messages`)).json).toEqual({ deleted: 3 });
    await api.publish(topic, numbered(1, "k", "next"));
    return async () => expect(await drained(topic, "g")).toEqual(["next0#1"]);
  },

  "a postponed message comes": async (topic) => {
    await api.publish(topic, numbered(2, "k"));
    const [m0, m1] = await api.receiveCount(topic, "g", 2);
    await settle(topic, "g", [m0 as Delivery], "postpone", { delayMs: 600_000 });
    await api.ack(topic, "g", [m1 as Delivery]);
    return async () => expect(await drained(topic, "g")).toEqual(["m0#1"]);
  },

  "G5 fencing: receipts from before settle nothing, and lease epochs grow": async (topic) => {
    await api.publish(topic, numbered(1, "k"));
    const before = only(await api.receiveCount(topic, "g", 1));
    return async () => {
      const ack = { receipt: before.receipt, action: "ack" };
      expect(await api.settleOne(topic, "g", ack)).toBe("stale");
      const after = only(await api.receiveCount(topic, "g", 1));
      expect(await api.settleOne(topic, "g", ack)).toBe("stale");
      expect(after.leaseEpoch).toBeGreaterThan(before.leaseEpoch);
      await api.ack(topic, "g", [after]);
    };
  },

  "an ID that was published is a duplicate": async (topic) => {
    await api.publish(topic, numbered(2, "k"));
    await api.ack(topic, "g", await api.receiveCount(topic, "g", 2));
    return async () => {
      const again = await api.publish(topic, numbered(3, "k"));
      expect(again.map(({ duplicate }) => duplicate)).toEqual([true, true, false]);
      expect(await drained(topic, "g")).toEqual(["m2#1"]);
    };
  },

  "figures of the topic are of what is left, before anybody receives": async (topic) => {
    await api.publish(topic, numbered(6, "k"));
    await api.ack(topic, "g", (await api.receiveCount(topic, "g", 6)).slice(0, 4));
    await api.putGroup(topic, "h");
    return async () => {
      const { messages, partitions, groups }: WireTopic = await api.getTopic(topic);
      expect({ messages, partitions }).toEqual({ messages: 6, partitions: 1 });
      const backlogs = groups.map(({ group, backlog, inFlight }) => [group, backlog, inFlight]).sort();
      expect(backlogs).toEqual([
        ["g", 2, 0],
        ["h", 6, 0],
      ]);
    };
  },
};

beforeAll(async () => {
  place = await ServerPlace.start({ durable: false });
  live = await place.server(await place.database());
  api = live.api("demo");
});
afterAll(async () => {
  await live?.close();
  await place?.stop();
});

describe("the object is lost once what was settled is saved", () => {
  const checks = new Map<string, () => Promise<void>>();
  beforeAll(async () => {
    for (const [story, begin] of Object.entries(STORIES)) checks.set(story, await begin(freshTopic()));
    await untilClock(Date.now() + SAVED_AFTER_MS);
    await loseObject();
  });

  test.for(Object.keys(STORIES))("%s", async (story) => {
    await (checks.get(story) ?? expect.fail("its beginning is missing"))();
  });
});

describe("the object is lost at once", () => {
  test("what was acked a moment before may come again, nothing is lost, and then it stays acked", async () => {
    const topic = freshTopic();
    await api.publish(topic, numbered(6, "k"));
    await api.ack(topic, "g", (await api.receiveCount(topic, "g", 6)).slice(0, 3));
    await loseObject();
    const again = await drained(topic, "g");
    expect(again.slice(-3)).toEqual(["m3#1", "m4#1", "m5#1"]);
    expect(new Set(again).size).toBe(again.length);
    await untilClock(Date.now() + SAVED_AFTER_MS);
    await loseObject();
    expect(await drained(topic, "g")).toEqual([]);
  });

  test("a dead letter whose decision is lost is not doubled when its message fails again", async () => {
    const topic = freshTopic();
    await api.publish(topic, numbered(3, "k"));
    const fail = async (count: number) => {
      const rejected = await api.receiveCount(topic, "g", count);
      await settle(topic, "g", rejected, "reject", { reason: "no use" });
    };
    await fail(3);
    await until("the copies", async () => (await api.deadLetters(topic)).length === 3);
    await loseObject();
    const before = await api.deadLetters(topic);
    expect(before).toHaveLength(3);
    const { deliveries } = await api.receive(topic, "g", { waitMs: 500 });
    await settle(topic, "g", deliveries, "reject", { reason: "again" });
    await until("it is settled", async () => (await api.getTopic(topic)).groups[0]?.backlog === 0);
    expect(await api.deadLetters(topic)).toEqual(before);
  });

  test("a receive that waits for what is published after the loss gets it", async () => {
    const topic = freshTopic();
    await api.putGroup(topic, "g");
    await loseObject();
    const waiting = api.receive(topic, "g", { waitMs: 20_000 });
    await untilClock(Date.now() + 200);
    const startMs = Date.now();
    await api.publish(topic, numbered(1, "k"));
    expect(ids((await waiting).deliveries)).toEqual(["m0"]);
    expect(Date.now() - startMs).toBeLessThan(2000);
  });

  test("collection goes by what was saved: it deletes nothing that has to come again", async () => {
    const topic = freshTopic();
    await api.putTopic(topic, { retentionMs: 1000 });
    await api.publish(topic, numbered(4, "k"));
    await api.ack(topic, "g", (await api.receiveCount(topic, "g", 4)).slice(0, 2));
    await untilClock(Date.now() + 1100);
    await loseObject();
    for (let pass = 0; pass < 3; pass++) expect((await api.request("POST", "gc")).status).toBe(200);
    const again = await drained(topic, "g");
    expect(again.slice(-2)).toEqual(["m2#1", "m3#1"]);
  });
});

test.each(["kept", "lost"])(
  "G10 collection is safe: what is settled goes, though nobody receives any more, the object being %s",
  async (fate) => {
    const other = await place.server(await place.database({ commitHorizonMs: 1000 }));
    try {
      const topic = freshTopic();
      const demo = other.api("demo");
      await demo.putTopic(topic, { retentionMs: 1000 });
      await demo.publish(topic, numbered(4, "k"));
      await demo.ack(topic, "g", (await demo.receiveCount(topic, "g", 4)).slice(0, 3));
      await untilClock(Date.now() + SAVED_AFTER_MS);
      await other.kill();
      if (fate === "lost") await other.loseObjects();
      await other.restart();
      let deleted = 0;
      await until("three are collected", async () => {
        deleted += (await demo.request<{ deletedMessages: number }>("POST", "gc")).json.deletedMessages;
        return deleted >= 3;
      });
      expect(ids(await demo.listMessages(topic))).toEqual(["m3"]);
    } finally {
      await other.close();
    }
  },
);
