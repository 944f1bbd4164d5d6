import { describe, expect, test } from "vitest";
import { consuming, done, held } from "./consuming.ts";
import { brokenConnection, json, problem } from "./wire.ts";

describe("settling", () => {
  test("what is decided in one turn goes in one request, at most 100", async () => {
    const { handler, of } = held();
    const { role, time, stop, start } = consuming({ handler, concurrency: 250 });
    role.publish(...Array.from({ length: 250 }, (_, i) => ({ id: `m${i}` })));
    const work = start();
    await time.advance(100);
    for (let i = 0; i < 250; i++) of(`m${i}`).end();
    await time.settle();
    const settles = role.wire.sent.filter(({ path }) => path.endsWith("/settle"));
    const sizes = settles.map(({ json }) => (json as { settlements: unknown[] }).settlements.length);
    expect(sizes).toEqual([100, 100, 50]);
    expect(settles[0]?.json).toMatchObject({ subscriber: role.subscriber });
    stop.abort();
    expect(await work).toEqual(done);
  });

  test("what comes while a request is under way goes together with the next", async () => {
    const { handler, of } = held();
    const { role, time, stop, start } = consuming({ handler });
    role.publish({ id: "a" }, { id: "b" }, { id: "c" });
    let answer: (response: Response) => void = () => {};
    const work = start();
    await time.settle();
    role.trouble = (_, kind) =>
      kind === "settle"
        ? new Promise<Response>((resolve) => {
            answer = resolve;
          })
        : undefined;
    of("a").end();
    await time.settle();
    of("b").end();
    await time.settle();
    of("c").end();
    await time.settle();
    const settles = () => role.wire.sent.filter(({ path }) => path.endsWith("/settle"));
    expect(settles()).toHaveLength(1);
    role.trouble = () => undefined;
    answer(json({ results: [{ receipt: "a", status: "ok" }] }));
    await time.settle();
    expect(role.decisions).toEqual(["ack b", "ack c"]);
    stop.abort();
    expect(await work).toEqual(done);
  });

  test("a settlement goes again until it is answered, and what a lost try did counts as ours", async () => {
    const { role, time, stop, stale, errors, start } = consuming({ handler: () => {} });
    role.publish({ id: "m" });
    let tries = 0;
    role.trouble = (_, kind) => {
      if (kind !== "settle") return undefined;
      tries += 1;
      return tries === 1 ? brokenConnection() : tries === 2 ? problem(503, "store-unavailable") : undefined;
    };
    role.statusOf = () => "settled";
    const work = start();
    await time.advance(1000);
    expect(role.decisions).toEqual(["ack m"]);
    expect([stale, errors]).toEqual([[], ["settle FairlaneNetworkError", "settle FairlaneApiError"]]);
    stop.abort();
    expect(await work).toEqual(done);
  });

  test.each([
    ["nack", "nack m unknown"],
    ["postpone", "postpone m unknown"],
    ["ack", "ack m stale"],
  ] as const)("of a %s whose answer got lost, a stale repetition says what is known", async (how, told) => {
    const { role, time, stop, stale, start } = consuming({
      handler: (message) =>
        how === "ack" ? undefined : how === "nack" ? message.nack("no") : message.postpone(5),
      onError: () => {},
    });
    let lost = false;
    role.trouble = (_, kind) => {
      if (kind !== "settle" || lost) return undefined;
      lost = true;
      return brokenConnection();
    };
    role.statusOf = () => "stale";
    role.publish({ id: "m" });
    const work = start();
    await time.advance(3000);
    expect(stale).toEqual([told]);
    stop.abort();
    expect(await work).toEqual(done);
  });

  test("settled by another is told, and so is a try that was refused and not lost", async () => {
    const { role, time, stop, stale, start } = consuming({ handler: () => {} });
    let refused = false;
    role.trouble = (_, kind) => {
      if (kind !== "settle" || refused) return undefined;
      refused = true;
      return problem(429, "rate-limited");
    };
    role.statusOf = () => "settled";
    role.publish({ id: "m" });
    const work = start();
    await time.advance(3000);
    expect(stale).toEqual(["ack m settled"]);
    stop.abort();
    expect(await work).toEqual(done);
  });

  test("what cannot be sent is given up long after the visibility ended, and told", async () => {
    const { role, time, stop, stale, start } = consuming({ handler: () => {}, onError: () => {} });
    role.publish({ id: "m" });
    role.trouble = (_, kind) => (kind === "settle" ? brokenConnection() : undefined);
    const work = start();
    await time.advance(80_000);
    expect(stale).toEqual([]);
    await time.advance(20_000);
    expect(stale).toEqual(["ack m unknown"]);
    const tries = role.wire.sent.filter(({ path }) => path.endsWith("/settle")).length;
    expect(tries).toBeLessThan(60);
    stop.abort();
    expect(await work).toEqual(done);
  });

  test("a refusal for good ends consuming, and tells what is not settled", async () => {
    const { role, time, stale, start } = consuming({ handler: () => {} });
    role.publish({ id: "m" });
    role.trouble = (_, kind) => (kind === "settle" ? problem(403, "forbidden") : undefined);
    const work = start();
    await time.advance(1000);
    expect(await work).toMatchObject({ error: { status: 403 } });
    expect(stale).toEqual(["ack m unknown"]);
  });

  test("a decision is checked in the handler, where it is made", async () => {
    const refused: string[] = [];
    const { role, time, stop, start } = consuming({
      handler: (message) => {
        const tries: (() => unknown)[] = [
          () => message.postpone(-1),
          () => message.postpone(Number.NaN),
          () => message.postpone(7 * 24 * 3600 * 1000 + 1),
          () => message.nack("r", { delayMs: 0.5 }),
          () => message.nack(1 as unknown as string),
          () => message.extend(999),
          () => message.reject({} as string),
        ];
        for (const attempt of tries) {
          try {
            attempt();
          } catch (error) {
            refused.push((error as Error).name);
          }
        }
      },
    });
    role.publish({ id: "m" });
    const work = start();
    await time.settle();
    expect(refused).toEqual(Array(7).fill("TypeError"));
    expect(role.decisions).toEqual(["ack m"]);
    stop.abort();
    expect(await work).toEqual(done);
  });

  test("reasons are cut between characters, and whatever is thrown has one", async () => {
    const odd = Object.assign(new Error(), { message: 5, name: null });
    const thrown: unknown[] = [
      new Error("🚚".repeat(1500)),
      "text",
      new RangeError(""),
      undefined,
      { a: 1 },
      odd,
    ];
    const { role, time, stop, start } = consuming({
      handler: ({ body }) => {
        throw thrown[body as number];
      },
    });
    role.publish(...thrown.map((_, i) => ({ id: `m${i}`, body: i })));
    const work = start();
    await time.settle();
    expect(role.settlements.map((one) => "reason" in one && one.reason)).toEqual([
      "🚚".repeat(1000),
      "text",
      "RangeError",
      "the handler failed",
      "the handler failed",
      "the handler failed",
    ]);
    stop.abort();
    expect(await work).toEqual(done);
  });
});
