import { describe, expect, test } from "vitest";
import type { MessageLog } from "../../../src/log/message-log.ts";
import { MAX_RETENTION_MS, NOTHING, RETENTION_MS, collecting as setup } from "./collecting.ts";
import { Bench, ids, numbered } from "./harness.ts";

/** Counts what the log is asked to read and delete, in entries. */
function counted(bench: Bench): { read: number; deletes: number } {
  const counts = { read: 0, deletes: 0 };
  bench.withLog((log: MessageLog) => ({
    listMessages: async (topic, read) => {
      const page = await log.listMessages(topic, read);
      counts.read += Math.max(1, page.length);
      return page;
    },
    deleteRanges: (topic, ranges) => {
      counts.deletes += 1;
      return log.deleteRanges(topic, ranges);
    },
  }));
  return counts;
}

describe("bounds and cost", () => {
  test("a pass deletes some thousands, says that there is more, and the next one goes on", async () => {
    const { bench } = await setup();
    await bench.putGroup("t", "g", { maxInFlightPerPartition: 1000 });
    for (let batch = 0; batch < 65; batch += 1)
      await bench.publish("t", numbered(100, `k${batch % 9}`, `${batch}-`));
    await bench.drain("t", "g");
    await bench.advance(RETENTION_MS);
    const first = await bench.call("collect", {});
    expect(first.stopped).toBe("limit");
    expect(first.deletedMessages).toBeGreaterThanOrEqual(5000);
    expect(first.deletedMessages).toBeLessThanOrEqual(6000);
    const second = await bench.call("collect", {});
    expect(second).toMatchObject({ stopped: "done", deletedMessages: 6500 - first.deletedMessages });
  });

  test("a deep topic does not starve the others", async () => {
    const { bench } = await setup();
    await bench.putGroup("t", "g", { maxInFlightPerPartition: 1000 });
    await bench.call("putTopic", { topic: "z", settings: { retentionMs: RETENTION_MS } });
    for (let batch = 0; batch < 120; batch += 1) await bench.publish("t", numbered(100, `k${batch}`));
    await bench.publish("z", numbered(1));
    await bench.drain("t", "g");
    await bench.drain("z", "g");
    await bench.advance(RETENTION_MS);
    expect(await bench.call("collect", {})).toMatchObject({ stopped: "limit" });
    await bench.call("collect", {});
    expect(await bench.call("getTopic", { topic: "z" })).toMatchObject({ messages: 0 });
  });

  test("an idle topic within its retention costs a few rows, not its backlog", async () => {
    const { bench } = await setup();
    for (let batch = 0; batch < 20; batch += 1) await bench.publish("t", numbered(100, `k${batch}`));
    await bench.drain("t", "g");
    const counts = counted(bench);
    expect(await bench.call("collect", {})).toMatchObject(NOTHING);
    expect(counts).toEqual({ read: 2, deletes: 0 });
  });

  test("a backlog that nobody reads costs a few rows, not its depth", async () => {
    const { bench } = await setup();
    await bench.putGroup("t", "g");
    for (let batch = 0; batch < 20; batch += 1) await bench.publish("t", numbered(100, `k${batch}`));
    await bench.drain("t", "reads");
    await bench.advance(RETENTION_MS);
    const counts = counted(bench);
    expect(await bench.call("collect", {})).toMatchObject(NOTHING);
    expect(counts).toEqual({ read: 2, deletes: 0 });
  });

  test("a collected message is read about once, and deleted in ranges", async () => {
    const { bench } = await setup();
    await bench.putGroup("t", "g", { maxInFlightPerPartition: 1000 });
    for (let batch = 0; batch < 40; batch += 1) await bench.publish("t", numbered(100, `k${batch}`));
    await bench.drain("t", "g");
    await bench.advance(RETENTION_MS);
    const counts = counted(bench);
    expect((await bench.call("collect", {})).deletedMessages).toBe(4000);
    expect(counts.read).toBeLessThanOrEqual(4010);
    expect(counts.deletes).toBeLessThanOrEqual(10);
  });

  test("passes that meet run one after the other: none reads what another is about to delete", async () => {
    const { bench } = await setup();
    await bench.publish("t", numbered(50));
    await bench.drain("t", "g");
    await bench.advance(RETENTION_MS);
    const counts = counted(bench);
    const replies = await Promise.all([1, 2, 3].map(() => bench.call("collect", {})));
    expect(replies.map(({ deletedMessages }) => deletedMessages)).toEqual([50, 0, 0]);
    expect(counts.read).toBeLessThanOrEqual(53);
  });
});

describe("what else a pass does", () => {
  test("releases idle leases and those of dead subscribers", async () => {
    const { bench } = await setup();
    await bench.publish("t", [...numbered(1, "a", "a"), ...numbered(1, "b", "b")]);
    await bench.settle("t", "g", await bench.take("t", "g", { subscriber: "idle" }));
    await bench.publish("t", numbered(1, "c", "c"));
    await bench.take("t", "g", { subscriber: "dead" });
    bench.nowMs += 20_000;
    await bench.call("heartbeat", { topic: "t", group: "g", subscriber: "idle" });
    bench.nowMs += 20_000;
    expect(await bench.call("collect", {})).toMatchObject({ releasedPartitions: 1 });
    await bench.call("heartbeat", { topic: "t", group: "g", subscriber: "idle" });
    bench.nowMs += 20_000;
    expect(await bench.call("collect", {})).toMatchObject({ releasedPartitions: 2 });
    const { leases } = await bench.call("leases", { topic: "t", group: "g", staleForMs: null });
    expect(leases).toEqual([]);
  });

  test("makes dead-letter copies that are due", async () => {
    const { bench, stored } = await setup();
    await bench.publish("t", numbered(1));
    const taken = await bench.take("t", "g");
    bench.withLog(() => ({
      copyToDeadLetters: async () => {
        throw new Error("the log is gone");
      },
    }));
    const settlements = taken.map(({ receipt }) => ({ receipt, action: "reject" as const }));
    await bench.engine.call("settle", { topic: "t", group: "g", subscriber: null, settlements });
    bench.restart();
    await bench.call("collect", {});
    expect(await stored("t_dlq")).toEqual(["m0"]);
  });

  test("arms the alarm when something is due and it was lost", async () => {
    const { bench } = await setup();
    await bench.publish("t", numbered(1));
    await bench.take("t", "g");
    bench.alarmAtMs = null;
    await bench.call("collect", {});
    expect(bench.alarmAtMs).not.toBeNull();
  });

  test("G11 no leak: removes what a group left whose deletion died half-way", async () => {
    const { bench } = await setup();
    await bench.publish("t", numbered(3));
    await bench.take("t", "g");
    await bench.call("resetOffset", { topic: "t", group: "g", partitionKey: "k", offset: 0 });
    const group = await bench.engine.tenant.groupOrFail("t", "g");
    await bench.log.saveGroup("t", { ...group.record, deletedAtMs: bench.nowMs });
    bench.restart();
    const tables = [
      "queue_partition_leases",
      "queue_group_progress",
      "queue_subscriber_heartbeats",
      "queue_offsets",
    ];
    expect(tables.map((table) => bench.count(table))).toEqual([1, 1, 1, 1]);
    await bench.call("collect", {});
    expect(tables.map((table) => bench.count(table))).toEqual([0, 0, 0, 0]);
  });

  test("G11 no leak: forgets where a partition was reset to with its last message", async () => {
    const { bench, collect } = await setup();
    await bench.publish("t", numbered(2));
    await bench.drain("t", "g");
    await bench.call("resetOffset", { topic: "t", group: "g", partitionKey: "k", offset: 0 });
    await bench.drain("t", "g");
    expect(bench.count("queue_offsets")).toBe(1);
    await bench.advance(RETENTION_MS);
    expect(await collect()).toBe(2);
    expect(bench.count("queue_offsets")).toBe(0);
  });

  test("G11 no leak: a lane that was to read on has nothing to read in an empty topic, and goes", async () => {
    const { bench, collect } = await setup();
    await bench.publish("t", numbered(3));
    await bench.drain("t", "g");
    await bench.call("resetOffset", { topic: "t", group: "g", partitionKey: "k", offset: 0 });
    await bench.advance(MAX_RETENTION_MS);
    expect(await collect()).toBe(3);
    expect(bench.count("queue_partition_leases")).toBe(0);
    expect(await bench.groupStats("t", "g")).toMatchObject({ backlog: 0, expired: 3 });
    await bench.publish("t", numbered(1, "k", "next"));
    expect(ids(await bench.take("t", "g"))).toEqual(["next0"]);
  });

  test("a tenant that holds nothing at all has nothing to collect", async () => {
    expect(await new Bench().call("collect", {})).toEqual({ ...NOTHING, idle: false, activity: 0 });
  });
});
