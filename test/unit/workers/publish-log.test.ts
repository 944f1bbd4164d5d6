import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import type { AppendOutcome, MessageLog, NewMessage } from "../../../src/log/message-log.ts";
import { DELIVERY_WAIT_MS, Hints } from "../../../src/workers/hints.ts";
import { APPEND_DEADLINE_MS, HintedPublish, PUBLISH_DEADLINE_MS } from "../../../src/workers/publish-log.ts";
import { makeEdge, ok } from "./edge.ts";
import { ManualTime } from "./manual-time.ts";
import { message, outsideLog, TENANT, TOPIC, unavailable } from "./outside-log.ts";

beforeEach(() => {
  for (const level of ["error", "warn"] as const) vi.spyOn(console, level).mockImplementation(() => {});
});
afterEach(() => {
  vi.restoreAllMocks();
});

const outcomeOf = (more: Partial<AppendOutcome> = {}): AppendOutcome => ({
  results: [{ duplicate: false }],
  stored: { lowestOffset: 5, highestOffset: 7 },
  late: false,
  ...more,
});

/** A publish over a log that answers what the test says, when it says so; the object is told when it says so. */
function setup() {
  const time = new ManualTime();
  const notified: unknown[] = [];
  const works: Promise<unknown>[] = [];
  let answer: (outcome: AppendOutcome) => void = () => {};
  let refuse: (error: unknown) => void = () => {};
  let tell: () => void = () => {};
  const log = {
    append: () =>
      new Promise<AppendOutcome>((resolve, reject) => {
        answer = resolve;
        refuse = reject;
      }),
  } as unknown as MessageLog;
  const hints = new Hints({
    notify: (tenant, input) => {
      notified.push({ tenant, ...input });
      return new Promise<void>((resolve) => {
        tell = resolve;
      });
    },
    nowMs: () => time.nowMs,
    after: time.after,
  });
  const publish = new HintedPublish(() => log, hints, time.after);
  const result: { outcome?: AppendOutcome; code?: string } = {};
  const work = publish
    .append(TENANT, { topic: TOPIC, messages: [message()] as NewMessage[] }, (more) => void works.push(more))
    .then(
      (outcome) => {
        result.outcome = outcome;
      },
      (error) => {
        result.code = error.failure?.code ?? error.message;
      },
    );
  return {
    time,
    notified,
    works,
    work,
    result,
    answer: (outcome: AppendOutcome) => answer(outcome),
    refuse: (error: unknown) => refuse(error),
    tell: () => tell(),
  };
}

const hint = (offsets: unknown) => [{ tenant: TENANT, topic: TOPIC, offsets }];

describe("a publish to a log outside the object", () => {
  test("is answered without waiting for its hint", async () => {
    const { answer, work, result, notified } = setup();
    answer(outcomeOf());
    await work;
    expect(result.outcome).toEqual(outcomeOf());
    expect(notified).toEqual(hint({ lowest: 5, highest: 7 }));
  });

  test("G3: that is late waits until its hint was delivered", async () => {
    const { answer, work, result, tell, time, notified } = setup();
    answer(outcomeOf({ late: true }));
    await time.advance(DELIVERY_WAIT_MS - 1);
    expect([notified, result]).toEqual([hint({ lowest: 5, highest: 7 }), {}]);
    tell();
    await work;
    expect(result.outcome?.late).toBe(true);
  });

  test("that is late waits no longer than 250 ms, and not for a hint at all if it was stored long ago", async () => {
    const slow = setup();
    slow.answer(outcomeOf({ late: true }));
    await slow.time.advance(DELIVERY_WAIT_MS);
    expect(slow.result.outcome).toBeDefined();
    const old = setup();
    old.answer(outcomeOf({ late: true, stored: null, results: [{ duplicate: true }] }));
    await old.work;
    expect([old.notified, old.result.outcome?.late]).toEqual([[], true]);
  });

  test("whose offsets the log could not tell says so in its hint", async () => {
    const { answer, work, notified } = setup();
    answer(outcomeOf({ stored: null, results: [{ duplicate: true }, { duplicate: false }] }));
    await work;
    expect(notified).toEqual(hint(null));
  });

  test("of duplicates alone needs no hint, unless they were stored lately", async () => {
    const old = setup();
    old.answer(outcomeOf({ stored: null, results: [{ duplicate: true }] }));
    await old.work;
    expect(old.notified).toEqual([]);
    const fresh = setup();
    fresh.answer(outcomeOf({ results: [{ duplicate: true }] }));
    await fresh.work;
    expect(fresh.notified).toEqual(hint({ lowest: 5, highest: 7 }));
  });

  test("that fails is no hint, and the failure is the log's own", async () => {
    const { refuse, work, result, notified } = setup();
    refuse(unavailable());
    await work;
    expect([result.code, notified]).toEqual(["store-unavailable", []]);
  });

  test("that hangs is answered within ten seconds, and hinted at if it was stored after all", async () => {
    const { answer, work, result, time, notified, works } = setup();
    await time.advance(APPEND_DEADLINE_MS - 1);
    expect(result).toEqual({});
    await time.advance(1);
    await work;
    expect(result.code).toBe("store-unavailable");
    expect(APPEND_DEADLINE_MS + DELIVERY_WAIT_MS).toBeLessThan(PUBLISH_DEADLINE_MS);
    expect(notified).toEqual([]);
    answer(outcomeOf());
    await works[0];
    expect(notified).toEqual(hint({ lowest: 5, highest: 7 }));
  });

  test("that hangs and then fails is told once", async () => {
    const { refuse, work, result, time, notified, works } = setup();
    await time.advance(APPEND_DEADLINE_MS);
    await work;
    refuse(new Error("too late to matter"));
    await Promise.all(works);
    expect([result.code, notified]).toEqual(["store-unavailable", []]);
  });
});

describe("over HTTP", () => {
  const body = { messages: [{ id: "a", partitionKey: "k", body: 1 }] };

  test("the batch is in the log, and the object got a hint and no message", async () => {
    const { real, logOf } = outsideLog();
    const edge = makeEdge(() => ok(null), {}, logOf);
    const reply = await edge.demo("POST", `topics/${TOPIC}/messages`, body);
    expect(await reply.json()).toEqual({ messages: [{ id: "a", partitionKey: "k", duplicate: false }] });
    await edge.settled();
    const { entries } = await real.scanTopic(TOPIC, { afterOffset: 0, maxEntries: 10 });
    const offset = entries[0]?.offset as number;
    expect(edge.calls).toEqual([
      {
        tenant: TENANT,
        name: "notify",
        input: { topic: TOPIC, offsets: { lowest: offset, highest: offset } },
      },
    ]);
  });

  test("a producer does not see that its hint failed", async () => {
    const { logOf } = outsideLog();
    const edge = makeEdge(() => Promise.reject(new Error("the object broke")), {}, logOf);
    expect((await edge.demo("POST", `topics/${TOPIC}/messages`, body)).status).toBe(200);
    await edge.settled();
  });

  test("a log that is down is 503, with the time to come again", async () => {
    const { logOf } = outsideLog({
      append: () => {
        throw unavailable();
      },
    });
    const edge = makeEdge(() => ok(null), {}, logOf);
    const reply = await edge.demo("POST", `topics/${TOPIC}/messages`, body);
    expect([reply.status, reply.headers.get("retry-after"), edge.calls]).toEqual([503, "1", []]);
  });
});
