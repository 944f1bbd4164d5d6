import { describe, expect, onTestFinished, test } from "vitest";
import { Broker, POSITION_RETENTION_MS, USERS } from "../../model-broker/broker.ts";
import type { Connection } from "../../model-broker/connection.ts";
import { NO_LIMIT } from "../../model-broker/engine-site.ts";
import { ModelProbe } from "../../model-broker/model-probe.ts";
import { type QueueKind, SHARED } from "../../model-broker/queue.ts";
import { ModelProcess, Scheduler } from "../../model-broker/scheduler.ts";
import { messageOf } from "./samples.ts";
import { wholeLife } from "./whole-life.ts";

const GROUP = "group";

interface Setup {
  broker: Broker;
  scheduler: Scheduler;
  connect(name?: string): Connection;
}

function setup(kind: QueueKind, deliveryLimit = NO_LIMIT): Setup {
  const scheduler = new Scheduler(1);
  const quiet = () => undefined;
  const watcher = { created: quiet, deleted: quiet, stored: quiet, settled: quiet, interrupted: quiet };
  const broker = new Broker(scheduler, watcher);
  broker.create("q", { kind, durable: true, deliveryLimit, owner: USERS });
  onTestFinished(() => scheduler.close());
  return { broker, scheduler, connect: (name = "p") => broker.connect(new ModelProcess(name)) };
}

describe("the model broker", () => {
  test("gives an unsettled delivery back when its connection ends, marked as repeated", async () => {
    const { broker, connect } = setup("queue");
    broker.publish("q", messageOf("a", 1));
    const first = connect();
    const held = await first.take(await first.consume("q", SHARED, 1));
    expect([held?.message.id, held?.redelivered]).toEqual(["1-a", false]);
    const second = connect();
    const reader = await second.consume("q", SHARED, 1);
    expect(await second.take(reader)).toBeNull();
    first.end();
    const again = await second.take(reader);
    expect([again?.message.id, again?.redelivered]).toEqual(["1-a", true]);
  });

  test("drops a message after so many deliveries", async () => {
    const { broker, connect } = setup("queue", 2);
    broker.publish("q", messageOf("a", 1));
    for (let delivery = 0; delivery < 3; delivery++) {
      const connection = connect();
      expect(await connection.take(await connection.consume("q", SHARED, 1))).not.toBeNull();
      connection.end();
    }
    const last = connect();
    expect(await last.take(await last.consume("q", SHARED, 1))).toBeNull();
  });

  test("confirms a publish that only its copies found a queue for", async () => {
    const { broker, connect } = setup("queue");
    const message = messageOf("a", 1, {
      headers: [
        ["CC", "q"],
        ["BCC", "q"],
      ],
    });
    expect(await connect().publish("publish", "nowhere", message)).toBe(true);
    expect(broker.queue("q")?.entries.map((entry) => entry.message.headers)).toEqual([[["CC", "q"]]]);
    expect(await connect().publish("publish", "nowhere", messageOf("a", 2))).toBe(false);
  });

  test("takes messages out by a policy's age and length", async () => {
    const { broker, scheduler } = setup("queue");
    broker.policies.push({ name: "p", pattern: /^q$/, ttlMs: 1_000, maxLength: 2 });
    for (const n of [1, 2, 3]) broker.publish("q", messageOf("a", n));
    expect(broker.view("q", SHARED)?.ready).toBe(2);
    scheduler.leap(1_001);
    expect(broker.view("q", SHARED)?.ready).toBe(0);
  });

  test("begins a reader without a position at the end, and forgets a position that nobody reads by", async () => {
    const { broker, scheduler, connect } = setup("log");
    broker.publish("q", messageOf("a", 1));
    const connection = connect();
    expect(await connection.take(await connection.consume("q", GROUP, 1))).toBeNull();
    expect(broker.position("q", GROUP)).toEqual({ below: 1, above: [] });
    scheduler.leap(2 * POSITION_RETENTION_MS);
    expect(broker.position("q", GROUP)).not.toBeNull();
    connection.end();
    scheduler.leap(POSITION_RETENTION_MS + 1);
    expect(broker.position("q", GROUP)).toBeNull();
  });

  test("refuses a position to be set that somebody reads by", async () => {
    const { connect } = setup("log");
    const connection = connect();
    const position = { below: 0, above: [] };
    await connection.commit("commit", "q", GROUP, position);
    await connection.consume("q", GROUP, 1);
    await expect(connection.commit("commit", "q", GROUP, position)).rejects.toThrow("is read by");
  });

  test("shows nothing behind an open transaction, and nothing of an aborted one", async () => {
    const { broker, connect } = setup("log");
    broker.commit("q", GROUP, { below: 0, above: [] });
    const end = broker.publishInTransaction("q", [messageOf("a", 1)]);
    broker.publish("q", messageOf("a", 2));
    const connection = connect();
    const reader = await connection.consume("q", GROUP, 5);
    expect(await connection.take(reader)).toBeNull();
    end("aborted");
    expect((await connection.take(reader))?.message.id).toBe("2-a");
  });

  test("gives the lock to the higher epoch, whose holder's connection ends", async () => {
    const { connect } = setup("queue");
    const [old, newer] = [connect("old"), connect("newer")];
    await old.lock("fence", 1);
    await expect(connect("equal").lock("fence", 1)).rejects.toThrow("is held");
    await newer.lock("fence", 2);
    expect([old.open, newer.open]).toEqual([false, true]);
    await expect(old.publish("publish", "q", messageOf("a", 1))).rejects.toThrow();
  });
});

describe("the scheduler", () => {
  test("does the same for the same seed, and not for another", async () => {
    const factsOf = async (seed: number) => {
      const probe = new ModelProbe({ kind: "queue", seed });
      onTestFinished(() => probe.close());
      expect(await wholeLife(probe)).toEqual([]);
      return JSON.stringify(probe.journal.facts);
    };
    const first = await factsOf(5);
    expect(await factsOf(5)).toBe(first);
    expect(await factsOf(6)).not.toBe(first);
  });

  test.each(["before", "after"] as const)(
    "kills a process %s the effect of a step, which hears no answer",
    async (when) => {
      const scheduler = new Scheduler(1);
      onTestFinished(() => scheduler.close());
      const process = new ModelProcess("p");
      const lane = scheduler.lane(process);
      scheduler.crashAt(process, { at: { label: "work", nth: 2 }, when });
      let done = 0;
      let heard = 0;
      for (let n = 0; n < 3; n++) {
        void scheduler.perform(lane, "work", () => ++done).then(() => ++heard);
      }
      await scheduler.quietly();
      expect([process.state, done, heard]).toEqual(["dead", when === "before" ? 1 : 2, 1]);
    },
  );
});
