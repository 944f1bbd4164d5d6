import { describe, expect, test } from "vitest";
import { ids, message, setup } from "./tenant.ts";

/** The object is a cache of its own disk: each case evicts it between a command and what depends on it. */
describe("G11: nothing but latency is lost with the object's memory", () => {
  test("publish: what was accepted is delivered, and its IDs are remembered", async () => {
    const { publish, take, evict } = setup("evict-publish");
    await publish(message("a"), message("b"));
    await evict();
    expect(ids(await take())).toEqual(["a", "b"]);
    await evict();
    expect(await publish(message("a"))).toMatchObject({
      ok: true,
      value: { results: [{ duplicate: true }], stored: null },
    });
  });

  test("take: deliveries stay in flight, their receipts work, nobody gets them twice", async () => {
    const { publish, take, settle, evict } = setup("evict-take");
    await publish(message("a"), message("b"));
    const [a, b] = await take();
    await evict();
    expect(await take()).toEqual([]);
    expect(await settle({ receipt: a?.receipt ?? "", action: "ack" })).toEqual(["ok"]);
    await evict();
    expect(
      await settle(
        { receipt: a?.receipt ?? "", action: "ack" },
        { receipt: b?.receipt ?? "", action: "ack" },
      ),
    ).toEqual(["settled", "ok"]);
  });

  test("settle: nack, postpone and extend are kept", async () => {
    const { publish, take, settle, evict } = setup("evict-settle");
    await publish(
      message("nacked", "p1"),
      message("postponed", "p2"),
      message("behind", "p2"),
      message("extended", "p3"),
    );
    const taken = await take({ maxMessages: 4, visibilityTimeoutMs: 1000 });
    const receipt = (id: string) => taken.find((delivery) => delivery.id === id)?.receipt ?? "";
    await settle({ receipt: receipt("behind"), action: "nack", delayMs: 0 });
    await settle(
      { receipt: receipt("nacked"), action: "nack", reason: "no", delayMs: 0 },
      { receipt: receipt("postponed"), action: "postpone", delayMs: 3_600_000 },
      { receipt: receipt("extended"), action: "extend", visibilityTimeoutMs: 3_600_000 },
    );
    await evict();
    const again = await take();
    expect(ids(again)).toEqual(["nacked"]);
    expect(again[0]?.attempt).toBe(2);
    expect(await settle({ receipt: receipt("extended"), action: "ack" })).toEqual(["ok"]);
  });

  test("reject: the decision outlives the object and the copy is made once", async () => {
    const { at, publish, take, settle, evict, alarm, call } = setup("evict-reject");
    await publish(message("bad"));
    const [bad] = await take();
    await settle({ receipt: bad?.receipt ?? "", action: "reject", reason: "broken" });
    await evict();
    await alarm();
    const { deadLetters } = await call("deadLetters", { topic: at.topic, after: 0, limit: 10 });
    expect(deadLetters).toMatchObject([{ id: "bad", reason: "broken", attempts: 1, group: at.group }]);
  });

  test("leases and heartbeats: the owner stays the owner", async () => {
    const { at, publish, take, evict, call } = setup("evict-lease");
    await publish(message("a"), message("b"));
    await take({ maxMessages: 1 });
    await evict();
    expect(ids(await take({ subscriber: "worker-2" }))).toEqual([]);
    expect(await call("heartbeat", { ...at, subscriber: "worker-1" })).toMatchObject({
      partitions: ["order-1"],
    });
    expect(ids(await take())).toEqual(["b"]);
  });

  test("leave: what the subscriber held is free at once, with the same attempt number", async () => {
    const { at, publish, take, settle, evict, call } = setup("evict-leave");
    await publish(message("a"));
    const [a] = await take();
    await call("leave", { ...at, subscriber: "worker-1" });
    await evict();
    expect(await settle({ receipt: a?.receipt ?? "", action: "ack" })).toEqual(["stale"]);
    expect((await take({ subscriber: "worker-2" }))[0]).toMatchObject({ id: "a", attempt: 1 });
  });

  test("give-back: comes first again, and counts as no attempt", async () => {
    const { at, publish, take, evict, call } = setup("evict-give-back");
    await publish(message("a"), message("b"));
    const [a] = await take({ maxMessages: 1, takeId: "lost" });
    await call("giveBack", { ...at, takeId: "lost", receipts: [a?.receipt ?? ""] });
    await evict();
    const again = await take();
    expect(again.map(({ id, attempt }) => `${id} ${attempt}`)).toEqual(["a 1", "b 1"]);
  });

  test("groups and topics: settings, deletion and its minute are kept", async () => {
    const { at, publish, take, evict, call, raw } = setup("evict-settings");
    await call("putGroup", { ...at, settings: { maxInFlightPerPartition: 1 } });
    await call("putTopic", { topic: at.topic, settings: { retentionMs: 5000 } });
    await publish(message("a"), message("b"));
    await evict();
    expect(ids(await take())).toEqual(["a"]);
    expect(await call("getGroup", at)).toMatchObject({ maxInFlightPerPartition: 1, createdBy: "admin" });
    await call("deleteGroup", { ...at, force: true });
    await evict();
    const input = {
      ...at,
      subscriber: "s",
      maxMessages: 1,
      waitMs: 0,
      visibilityTimeoutMs: null,
      takeId: "t",
    };
    expect(await raw.take("evict-settings", input)).toMatchObject({
      ok: false,
      error: { code: "not-found" },
    });
    await call("putGroup", { ...at, settings: {} });
    await evict();
    expect(ids(await take())).toEqual(["a", "b"]);
  });

  test("explain: says the same of every message as before", async () => {
    const { at, publish, take, settle, evict, call } = setup("evict-explain");
    await publish(message("held"), message("failed"), message("next"), message("late", "p2", 3_600_000));
    const [, failed] = await take({ maxMessages: 2, visibilityTimeoutMs: 3_600_000 });
    await settle({ receipt: failed?.receipt ?? "", action: "nack", reason: "no", delayMs: 3_600_000 });
    const explainAll = async () => {
      const said = [];
      for (const [id, partitionKey] of [
        ["held", "order-1"],
        ["failed", "order-1"],
        ["next", "order-1"],
        ["late", "p2"],
      ] as const) {
        const { state, offset, attempt, until, reason, subscriber, lease } = await call("explain", {
          ...at,
          partitionKey,
          id,
          offset: null,
        });
        said.push({ state, offset, attempt, until, reason, subscriber, owner: lease?.subscriber });
      }
      return said;
    };
    const before = await explainAll();
    expect(before.map(({ state }) => state)).toEqual(["in-flight", "backing-off", "deliverable", "delayed"]);
    await evict();
    const after = await explainAll();
    // Who asked a moment ago is latency: the next receive says it again.
    expect(after).toEqual(
      before.map((one) => (one.state === "deliverable" ? { ...one, state: "waiting" } : one)),
    );
    await take({ maxMessages: 1 });
    expect((await explainAll())[2]).toMatchObject({ state: "in-flight", subscriber: "worker-1" });
  });

  test("waiting lanes: the same ones, read anew", async () => {
    const { at, publish, take, settle, evict, call } = setup("evict-waiting");
    await publish(message("a", "p1"), message("b", "p1"), message("c", "p2"));
    const [a] = await take({ maxMessages: 1 });
    await settle({ receipt: a?.receipt ?? "", action: "postpone", delayMs: 3_600_000 });
    const waiting = async () => {
      const { lanes } = await call("waitingLanes", { ...at, limit: 10 });
      return lanes.map(({ partitionKey, unsettled, explanation }) => {
        return { partitionKey, unsettled, state: explanation.state, offset: explanation.offset };
      });
    };
    const before = await waiting();
    expect(before).toMatchObject([
      { partitionKey: "p1", unsettled: 2, state: "postponed", offset: a?.offset },
    ]);
    await evict();
    const after = await waiting();
    // Nobody asks after an eviction, so that the other lane waits as well.
    expect(after).toMatchObject([...before, { partitionKey: "p2", unsettled: 1, state: "waiting" }]);
  });

  test("delayed messages arrive once, at their place", async () => {
    const { publish, take, settle, evict } = setup("evict-delayed");
    await publish(message("late", "p", 300), message("soon", "p"));
    const [soon] = await take();
    expect(soon?.id).toBe("soon");
    await evict();
    const [late] = await take({ waitMs: 5000 });
    expect(late?.id).toBe("late");
    expect(await settle({ receipt: late?.receipt ?? "", action: "ack" })).toEqual(["ok"]);
    await evict();
    expect(ids(await take())).toEqual([]);
  });
});

describe("what people look at is made of rows", () => {
  test("subscribers: who lives, holds lanes and has deliveries is known to the next life", async () => {
    const { at, publish, take, evict, call } = setup("evict-subscribers");
    await publish(message("a", "p1"), message("b", "p2"));
    await take({ maxMessages: 1 });
    const before = await call("subscribers", at);
    const [worker = expect.fail("nobody lives")] = before.subscribers;
    expect(worker).toMatchObject({ subscriber: "worker-1", lanes: 1, inFlight: 1, asking: true });
    await evict();
    const after = await call("subscribers", at);
    // That it asked a moment ago is not worth a row, nor is every heartbeat.
    const { lastSeenAt = 0, expiresAt = 0 } = after.subscribers[0] ?? {};
    expect(after).toEqual({ ...before, subscribers: [{ ...worker, asking: false, lastSeenAt, expiresAt }] });
    expect(worker.expiresAt - expiresAt).toBeLessThan(30_000 / 8);
    expect(expiresAt - lastSeenAt).toBe(30_000);
  });

  test("overview: a snapshot that is lost is taken again", async () => {
    const { at, publish, take, settle, evict, call } = setup("evict-overview");
    await publish(message("a"), message("b"), message("c"));
    const [a] = await take({ maxMessages: 2 });
    await settle({ receipt: a?.receipt ?? "", action: "ack" });
    const figures = { topic: at.topic, messages: 3, deadLetters: 0 };
    const groups = [{ group: at.group, backlog: 2, inFlight: 1, subscribers: 1 }];
    expect((await call("overview", { after: null, limit: 20 })).topics).toMatchObject([
      { ...figures, groups },
    ]);
    await publish(message("d"));
    await evict();
    const { topics } = await call("overview", { after: null, limit: 20 });
    expect(topics).toMatchObject([{ ...figures, messages: 4, groups: [{ ...groups[0], backlog: 3 }] }]);
  });

  test("the last messages, and one of them by its offset", async () => {
    const { at, publish, evict, call } = setup("evict-last");
    await publish(message("a"), message("b"), message("c"));
    await evict();
    const read = { topic: at.topic, partitionKey: null, after: 0, limit: 1, last: 2 };
    const { messages, next } = await call("listMessages", read);
    expect(messages.map(({ id }) => id)).toEqual(["b", "c"]);
    expect(next).toBe(messages[1]?.offset);
    const named = { topic: at.topic, id: "c", partitionKey: "order-1" };
    expect(await call("getMessage", { ...named, offset: Number(next) })).toMatchObject({ id: "c" });
  });
});

describe("the alarm", () => {
  test("G2: a lapse of the last attempt becomes a dead letter although nobody asks", async () => {
    const { at, publish, take, alarm, evict, call } = setup("alarm-lapse");
    await call("putGroup", { ...at, settings: { maxAttempts: 1 } });
    await publish(message("a"));
    await take({ visibilityTimeoutMs: 1000 });
    await evict();
    const deadLetters = async () =>
      (await call("deadLetters", { topic: at.topic, after: 0, limit: 10 })).deadLetters;
    // The platform's alarm may have fired by itself; running it early must do no harm.
    while ((await deadLetters()).length === 0) await alarm();
    expect(await deadLetters()).toMatchObject([{ id: "a", attempts: 1, reason: "retry limit exceeded" }]);
  });

  test("on an object that holds nothing it does nothing", async () => {
    const { alarm } = setup("alarm-empty");
    expect(await alarm()).toBe(false);
  });

  test("G7: an object answers only for the tenant that it belongs to", async () => {
    const { publish, raw } = setup("own-tenant");
    await publish(message("a"));
    expect(await raw.listTopics("another", {})).toMatchObject({ ok: false, error: { code: "internal" } });
  });
});
