import { describe, expect, test } from "vitest";
import { Bench, numbered } from "./harness.ts";

const AT = { topic: "t", group: "g" };

function explain(bench: Bench, id: string) {
  return bench.call("explain", { ...AT, partitionKey: "k", id, offset: null });
}

describe("a delivery that is out", () => {
  async function hanging(): Promise<{
    bench: Bench;
    sinceMs: number;
    extend: (ms: number) => Promise<void>;
  }> {
    const bench = new Bench();
    await bench.putGroup("t", "g", { maxInFlightPerPartition: 1 });
    await bench.publish("t", numbered(2));
    const taken = await bench.take("t", "g");
    const sinceMs = bench.nowMs;
    const extend = async (visibilityTimeoutMs: number): Promise<void> => {
      const how = { action: "extend", visibilityTimeoutMs } as const;
      expect(await bench.settle("t", "g", taken, how)).toEqual(["ok"]);
    };
    return { bench, sinceMs, extend };
  }

  test("is out since it was handed over, through extensions and restarts, and named by its ID behind", async () => {
    const { bench, sinceMs, extend } = await hanging();
    expect(await explain(bench, "m0")).toMatchObject({ state: "in-flight", deliveredAt: sinceMs });
    for (let minute = 1; minute <= 14; minute += 1) {
      await bench.advance(50_000);
      await extend(60_000);
      await bench.advance(10_000);
    }
    const at = new Date(sinceMs).toISOString();
    for (let life = 0; life < 2; life += 1) {
      const said = await explain(bench, "m0");
      expect(said).toMatchObject({ deliveredAt: sinceMs, attempt: 1, nextChangeAt: bench.nowMs + 50_000 });
      expect(said.summary).toContain(`at ${at}, 14 minutes ago, and extended since; unless it settles or is`);
      const behind = await explain(bench, "m1");
      expect(behind.blockers).toMatchObject([
        { kind: "no-subscriber" },
        { kind: "message", id: "m0", offset: said.offset, deliveredAt: sinceMs, subscriber: "s1" },
      ]);
      expect(behind.summary).toContain(`Waits behind the message m0 at offset ${said.offset}, which was`);
      bench.restart();
    }
  });

  test("begins anew with the next one, and is none when it failed", async () => {
    const { bench, sinceMs, extend } = await hanging();
    await bench.advance(30_000);
    await extend(1000);
    await bench.advance(1000);
    const again = await bench.take("t", "g");
    expect(await explain(bench, "m0")).toMatchObject({ attempt: 2, deliveredAt: sinceMs + 31_000 });
    await bench.settle("t", "g", again, { action: "nack", delayMs: 5000 });
    expect(await explain(bench, "m0")).not.toHaveProperty("deliveredAt");
  });

  test("a lane in which one hangs waits, once it is out for longer than the group lets it", async () => {
    const bench = new Bench();
    await bench.putGroup("t", "g", { visibilityTimeoutMs: 60_000 });
    await bench.publish("t", numbered(2));
    const [first, second] = await bench.take("t", "g");
    const sinceMs = bench.nowMs;
    await bench.settle("t", "g", first ? [first] : []);
    const look = () => bench.call("waitingLanes", { ...AT, limit: 20 });
    await bench.advance(50_000);
    const how = { action: "extend", visibilityTimeoutMs: 60_000 } as const;
    await bench.settle("t", "g", second ? [second] : [], how);
    await bench.advance(10_000);
    expect((await look()).lanes).toEqual([]);
    await bench.advance(1);
    const { lanes } = await look();
    expect(lanes).toMatchObject([
      { partitionKey: "k", unsettled: 1, explanation: { state: "in-flight", offset: second?.offset } },
    ]);
    expect(lanes[0]?.explanation).toMatchObject({ deliveredAt: sinceMs });
    expect(lanes[0]?.explanation.summary).toMatch(/and extended since; .* Look at what s1 does with it\./);
  });

  test("who does not ask is said to have it", async () => {
    const { bench, extend } = await hanging();
    await bench.putGroup("t", "g", { maxInFlightPerPartition: 10 });
    await bench.advance(15_000);
    await extend(60_000);
    await bench.call("heartbeat", { ...AT, subscriber: "s1" });
    expect((await explain(bench, "m1")).summary).toMatch(
      /^The one live subscriber has no receive open; s1 has 1 message under way since \S+ \(15 seconds ago\): it is/,
    );
  });
});

describe("an owner that neither asks nor holds a delivery any more", () => {
  test("is no obstacle: whoever asks first gets the message", async () => {
    const bench = new Bench();
    await bench.putGroup("t", "g", { leaseDurationMs: 20_000 });
    await bench.publish("t", [{ id: "m", partitionKey: "k" }]);
    await bench.take("t", "g", { subscriber: "owner", visibilityTimeoutMs: 1000 });
    await bench.call("heartbeat", { topic: "t", group: "g", subscriber: "other" });
    await bench.advance(3500);
    const asked = { topic: "t", group: "g", partitionKey: "k", id: "m", offset: null };
    const { state, blockers, lease } = await bench.call("explain", asked);
    expect([state, blockers.map(({ kind }) => kind)]).toEqual(["waiting", ["nobody-asking"]]);
    expect(lease).toMatchObject({ subscriber: "owner" });
    expect(await bench.take("t", "g", { subscriber: "other" })).toMatchObject([{ id: "m", attempt: 2 }]);
  });
});
