import { describe, expect, test } from "vitest";
import { Bench, ids, numbered, settled } from "./harness.ts";

const list = { topic: "t", partitionKey: null, after: 0, limit: 100 };

describe("listMessages", () => {
  test("pages in offset order; next is the last offset, null at the end", async () => {
    const bench = new Bench();
    const offsets = await bench.publish("t", numbered(4));
    const first = await bench.call("listMessages", { ...list, limit: 2 });
    expect(ids(first.messages)).toEqual(["m0", "m1"]);
    expect(first.next).toBe(offsets[1]);
    const second = await bench.call("listMessages", { ...list, limit: 2, after: Number(first.next) });
    expect(ids(second.messages)).toEqual(["m2", "m3"]);
    expect(second.next).toBeNull();
  });

  test("shows everything but the body", async () => {
    const bench = new Bench();
    const headers = '{"x-dev":"alice"}';
    const bytes = new Uint8Array([0, 255]);
    const [offset] = await bench.publish("t", [
      { body: bytes, contentType: "image/png", headers, delayMs: 500 },
    ]);
    const { messages } = await bench.call("listMessages", list);
    const times = { publishedAt: bench.nowMs, dueAt: bench.nowMs + 500 };
    const none = { targetGroup: null, deadLetter: null };
    expect(messages).toEqual([
      {
        id: "m0",
        partitionKey: "k",
        offset,
        ...times,
        bodyBytes: 2,
        contentType: "image/png",
        headers,
        ...none,
      },
    ]);
  });

  test("of one partition only", async () => {
    const bench = new Bench();
    await bench.publish("t", [...numbered(2, "a", "a"), ...numbered(2, "b", "b")]);
    const { messages } = await bench.call("listMessages", { ...list, partitionKey: "b" });
    expect(ids(messages)).toEqual(["b0", "b1"]);
  });

  test("last: the end of the topic, or of a partition, and where who follows goes on", async () => {
    const bench = new Bench();
    await bench.call("putTopic", { topic: "t", settings: {} });
    expect(await bench.call("listMessages", { ...list, last: 2 })).toEqual({ messages: [], next: null });
    const offsets = await bench.publish("t", [...numbered(3, "a", "a"), ...numbered(3, "b", "b")]);
    const end = await bench.call("listMessages", { ...list, limit: 1, last: 4 });
    expect(ids(end.messages)).toEqual(["a2", "b0", "b1", "b2"]);
    expect(end.next).toBe(offsets[5]);
    const ofA = await bench.call("listMessages", { ...list, partitionKey: "a", last: 2 });
    expect([ids(ofA.messages), ofA.next]).toEqual([["a1", "a2"], offsets[2]]);
    const all = await bench.call("listMessages", { ...list, last: 100 });
    expect(all).toEqual({ messages: (await bench.call("listMessages", list)).messages, next: offsets[5] });
    await bench.publish("t", numbered(1, "a", "new"));
    const followed = await bench.call("listMessages", { ...list, after: Number(end.next) });
    expect([ids(followed.messages), followed.next]).toEqual([["new0"], null]);
  });

  test("an unknown topic is not found, an empty one is empty", async () => {
    const bench = new Bench();
    expect(await bench.failure("listMessages", list)).toBe("not-found");
    await bench.call("putTopic", { topic: "t", settings: {} });
    expect(await bench.call("listMessages", list)).toEqual({ messages: [], next: null });
  });
});

describe("getMessage", () => {
  test("G12 exact bytes: gives the body as it was published", async () => {
    const bench = new Bench();
    await bench.publish("t", [{ body: '{"n":1.0}' }]);
    const message = await bench.call("getMessage", { topic: "t", id: "m0", partitionKey: "k" });
    expect(message).toMatchObject({ id: "m0", body: '{"n":1.0}', contentType: null });
  });

  test("the published message comes before its redriven copies", async () => {
    const bench = new Bench();
    const [published] = await bench.publish("t", numbered(1));
    await bench.settle("t", "g", await bench.take("t", "g"), { action: "reject" });
    await bench.call("redrive", { topic: "t", ids: null, group: null, limit: null });
    expect((await bench.call("listMessages", list)).messages).toHaveLength(2);
    const message = await bench.call("getMessage", { topic: "t", id: "m0", partitionKey: "k" });
    expect(message).toMatchObject({ offset: published, targetGroup: null });
  });

  test("an offset says which of several: dead letters of each group, redriven copies", async () => {
    const bench = new Bench();
    const [published = 0] = await bench.publish("t", numbered(2));
    const named = { id: "m0", partitionKey: "k" };
    for (const group of ["g", "h"]) {
      const [m0] = await bench.take("t", group, { maxMessages: 1 });
      await bench.settle("t", group, m0 ? [m0] : [], { action: "reject", reason: `no use to ${group}` });
    }
    await bench.advance(10);
    const letters = (await bench.call("listMessages", { ...list, topic: "t_dlq" })).messages;
    expect(letters).toHaveLength(2);
    for (const letter of letters) {
      const read = { ...named, topic: "t_dlq", offset: letter.offset };
      expect(await bench.call("getMessage", read)).toEqual({ ...letter, body: '{"n":0}' });
    }
    await bench.call("redrive", { topic: "t", ids: null, group: null, limit: null });
    const { messages, next } = await bench.call("listMessages", { ...list, last: 2 });
    for (const { offset, targetGroup } of messages) {
      const read = { ...named, topic: "t", offset };
      expect(await bench.call("getMessage", read)).toMatchObject({ offset, targetGroup });
    }
    const wrong = [0, published + 1, Number(next) + 1];
    for (const offset of wrong) {
      expect(await bench.failure("getMessage", { ...named, topic: "t", offset })).toBe("not-found");
    }
    const ofM1 = { id: "m1", partitionKey: "k", topic: "t", offset: published };
    expect(await bench.failure("getMessage", ofM1)).toBe("not-found");
    const otherKey = { id: "m0", partitionKey: "other", topic: "t", offset: published };
    expect(await bench.failure("getMessage", otherKey)).toBe("not-found");
  });

  test("what is not there is not found", async () => {
    const bench = new Bench();
    expect(await bench.failure("getMessage", { topic: "t", id: "m0", partitionKey: "k" })).toBe("not-found");
    await bench.publish("t", numbered(1));
    expect(await bench.failure("getMessage", { topic: "t", id: "m0", partitionKey: "K" })).toBe("not-found");
    expect(await bench.failure("getMessage", { topic: "t", id: "m1", partitionKey: "k" })).toBe("not-found");
  });
});

describe("deleteMessage", () => {
  const m0 = { topic: "t", id: "m0", partitionKey: "k" };

  test("G8 dedup: removes every copy of it and forgets the ID", async () => {
    const bench = new Bench();
    await bench.publish("t", numbered(2));
    const taken = await bench.take("t", "g");
    await bench.settle("t", "g", taken.slice(0, 1), { action: "reject" });
    await bench.call("redrive", { topic: "t", ids: null, group: null, limit: null });
    await bench.call("deleteMessage", m0);
    expect(ids((await bench.call("listMessages", list)).messages)).toEqual(["m1"]);
    expect(await bench.failure("deleteMessage", m0)).toBe("not-found");
    expect(await bench.publish("t", numbered(1))).toHaveLength(1);
  });

  test("ends its holds in every group, counted nowhere: a strict lane goes on at once", async () => {
    const bench = new Bench();
    const groups = ["g", "h"];
    for (const group of groups) await bench.putGroup("t", group, { maxInFlightPerPartition: 1 });
    await bench.publish("t", numbered(2));
    const held = await bench.take("t", "g");
    await bench.settle("t", "h", await bench.take("t", "h"), { action: "nack", delayMs: 60_000 });
    const waiting = groups.map((group) => bench.take("t", group, { waitMs: 20_000 }));
    await settled();
    await bench.call("deleteMessage", m0);
    expect((await Promise.all(waiting)).map(ids)).toEqual([["m1"], ["m1"]]);
    expect(await bench.settle("t", "g", held)).toEqual(["settled"]);
    for (const group of groups) {
      expect(await bench.groupStats("t", group)).toMatchObject({
        backlog: 1,
        inFlight: 1,
        expired: 0,
        dropped: 0,
      });
    }
  });

  test("takes it out of what was read ahead", async () => {
    const bench = new Bench();
    await bench.publish("t", numbered(5));
    await bench.take("t", "g", { maxMessages: 1 });
    await bench.call("deleteMessage", { ...m0, id: "m2" });
    expect(ids(await bench.take("t", "g"))).toEqual(["m1", "m3", "m4"]);
    expect(await bench.groupStats("t", "g")).toMatchObject({ expired: 0 });
  });

  test("ends holds although the object restarted", async () => {
    const bench = new Bench();
    await bench.putGroup("t", "g", { maxInFlightPerPartition: 1 });
    await bench.publish("t", numbered(2));
    await bench.take("t", "g");
    bench.restart();
    await bench.call("deleteMessage", m0);
    bench.restart();
    expect(ids(await bench.take("t", "g"))).toEqual(["m1"]);
  });

  test("an unknown topic is not found", async () => {
    expect(await new Bench().failure("deleteMessage", m0)).toBe("not-found");
  });
});

describe("purgeMessages", () => {
  test("removes everything for every group in chunks, ends all holds and forgets the IDs", async () => {
    const bench = new Bench();
    await bench.putGroup("t", "h");
    for (let batch = 0; batch < 12; batch += 1) await bench.publish("t", numbered(100, `k${batch}`));
    const taken = await bench.take("t", "g", { maxMessages: 100 });
    await bench.settle("t", "g", taken.slice(0, 5), { action: "nack", delayMs: 60_000 });
    expect(await bench.call("purgeMessages", { topic: "t" })).toEqual({ deleted: 1200 });
    expect(await bench.call("purgeMessages", { topic: "t" })).toEqual({ deleted: 0 });
    expect(await bench.call("listMessages", list)).toEqual({ messages: [], next: null });
    for (const group of ["g", "h"]) {
      expect(await bench.groupStats("t", group)).toMatchObject({ backlog: 0, inFlight: 0, expired: 0 });
    }
    expect(bench.count("queue_delivery_state")).toBe(0);
    expect(await bench.settle("t", "g", taken.slice(5))).toEqual(taken.slice(5).map(() => "settled"));
    expect(await bench.publish("t", numbered(1, "k0"))).toHaveLength(1);
    for (const group of ["g", "h"]) expect(ids(await bench.take("t", group))).toEqual(["m0"]);
  });

  test("what is published meanwhile stays", async () => {
    const bench = new Bench();
    for (let batch = 0; batch < 11; batch += 1) await bench.publish("t", numbered(100, `k${batch}`));
    const purging = bench.call("purgeMessages", { topic: "t" });
    const late = bench.call("publish", {
      topic: "t",
      messages: [{ id: "late", partitionKey: "k", body: "1", contentType: null, headers: "", delayMs: 0 }],
    });
    expect(await purging).toEqual({ deleted: 1100 });
    await late;
    expect(ids((await bench.call("listMessages", list)).messages)).toEqual(["late"]);
  });

  test("frees a strict lane and wakes who waits for it", async () => {
    const bench = new Bench();
    await bench.putGroup("t", "g", { maxInFlightPerPartition: 1 });
    await bench.publish("t", numbered(3));
    await bench.take("t", "g");
    const waiting = bench.take("t", "g", { waitMs: 20_000 });
    await settled();
    await bench.call("purgeMessages", { topic: "t" });
    await bench.publish("t", numbered(1, "k", "next"));
    expect(ids(await waiting)).toEqual(["next0"]);
  });

  test("a purge that failed half-way is finished by the next one", async () => {
    const bench = new Bench();
    for (let batch = 0; batch < 11; batch += 1) await bench.publish("t", numbered(100, `k${batch}`));
    await bench.take("t", "g", { maxMessages: 10 });
    let calls = 0;
    bench.withLog((log) => ({
      purge: async (topic, purge) => {
        calls += 1;
        if (calls === 2) throw new Error("the log is gone");
        return log.purge(topic, purge);
      },
    }));
    expect(await bench.failure("purgeMessages", { topic: "t" })).toBe("internal");
    expect(await bench.call("purgeMessages", { topic: "t" })).toEqual({ deleted: 100 });
    expect(await bench.groupStats("t", "g")).toMatchObject({ backlog: 0, inFlight: 0 });
  });

  test("an unknown topic is not found", async () => {
    expect(await new Bench().failure("purgeMessages", { topic: "t" })).toBe("not-found");
  });
});
