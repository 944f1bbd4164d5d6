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
