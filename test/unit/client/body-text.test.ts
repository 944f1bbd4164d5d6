import fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { Message, StoredMessageWithBody } from "../../../src/client/fairlane.ts";
import { readPublish } from "../../../src/protocol/publish-body.ts";
import { messageText, receiveReplyText } from "../../../src/protocol/reply-text.ts";
import type { DeliveryView } from "../../../src/protocol/tenant-calls.ts";
import { jsonSource, spaced, whiteSpace } from "../../property/json-spans-source.ts";
import { consuming, done } from "./consuming.ts";
import { json, type Role, type Sent, Wire } from "./wire.ts";

const SOURCES = [
  "1.0",
  "-0",
  "1e400",
  "9007199254740993",
  '"\\u0041\\/\\ud800"',
  '"é 🚚 \u2028"',
  '{"a":1,"a":2.0}',
  '{"__proto__":{"bodyText":1},"deliveries":[{"body":2}]}',
  '{ "a" :\t[ 1 ,\r\n {} ] }',
  '"}],\\"body\\":\\\\"',
  "null",
  '""',
];

const view = (body: string | Uint8Array, offset: number): DeliveryView => ({
  id: `m\\"body":${offset}`,
  partitionKey: '"},{"body":0',
  offset,
  body,
  contentType: typeof body === "string" ? null : "a/b",
  headers: '{"body":"]}"}',
  receipt: "r",
  attempt: 1,
  publishedAt: 0,
  visibleUntil: 0,
  leaseEpoch: 1,
  deadLetter: {
    originalTopic: "t",
    originalId: '"body":1',
    group: "g",
    failedAtMs: 0,
    attempts: 1,
    reason: "{",
  },
});

/** The reply as the server writes it. */
function replying(bodies: readonly (string | Uint8Array)[]): Wire {
  const deliveries = bodies.map((body, index) => view(body, index));
  const reply = { deliveries, partitions: ["body"], partitionsHeld: 1, grants: [] };
  return new Wire(() => new Response(receiveReplyText("t", reply, Number.POSITIVE_INFINITY).text));
}

const textsOf = async (wire: Wire) => {
  const { deliveries } = await wire.client().receive("t", "g", { subscriber: "s" });
  return deliveries.map(({ bodyText }) => bodyText);
};

describe("the text of a received body", () => {
  test.each(SOURCES)("is as it was published: %s", async (source) => {
    expect(await textsOf(replying([source, Uint8Array.of(1), `[${source}]`]))).toEqual([
      source,
      undefined,
      `[${source}]`,
    ]);
  });

  test("whatever JSON it is, and whatever stands beside it", async () => {
    const body = fc.oneof(jsonSource, fc.uint8Array({ maxLength: 5 }));
    await fc.assert(
      fc.asyncProperty(fc.array(body, { maxLength: 6 }), async (bodies) => {
        const expected = bodies.map((one) => (typeof one === "string" ? one : undefined));
        expect(await textsOf(replying(bodies))).toEqual(expected);
      }),
      { numRuns: 300 },
    );
  });

  test("is found in a reply that is written in another way", async () => {
    const reply =
      ' {"partitions" : ["x"], "deliveries": 1, "deliveries":\n[ {"\\u0062ody" : 1.0 }, { "body":1,"body":2.50}, {}, null ] }';
    const wire = new Wire(() => new Response(reply));
    const { deliveries } = await wire.client().receive("t", "g", { subscriber: "s" });
    expect(deliveries.map((one) => one?.bodyText)).toEqual(["1.0", "2.50", undefined, undefined]);
  });

  test("is the same each time, in any order, and no part of the message's JSON", async () => {
    const { deliveries } = await replying(["1.0", "2.0"]).client().receive("t", "g", { subscriber: "s" });
    const read = () => [...deliveries].reverse().map(({ bodyText }) => bodyText);
    expect([read(), read()]).toEqual([
      ["2.0", "1.0"],
      ["2.0", "1.0"],
    ]);
    expect(JSON.stringify(deliveries)).not.toContain("bodyText");
    expect(Object.keys(deliveries[0] ?? {})).not.toContain("bodyText");
  });

  test("is a consumer's message's, still after others of its reply were read", async () => {
    const texts: (string | undefined)[] = [];
    const bodies = ["1.0", Uint8Array.of(1), '{"a": 1e400}'];
    const { role, time, stop, start } = consuming({
      concurrency: 3,
      handler: ({ bodyText, body, bytes }: Message) => {
        texts.push(bodyText);
        expect(body === undefined).toBe(bodyText === undefined);
        expect(bytes === undefined).toBe(bodyText !== undefined);
      },
    });
    const deliveries = bodies.map((body, index) => view(body, index));
    const reply = receiveReplyText(
      "t",
      { deliveries, partitions: [], partitionsHeld: 0, grants: [] },
      1e6,
    ).text;
    role.trouble = (_, kind) => (kind === "receive" && texts.length === 0 ? new Response(reply) : undefined);
    const work = start();
    await time.settle();
    stop.abort();
    expect(await work).toEqual(done);
    expect(texts).toEqual(["1.0", undefined, '{"a": 1e400}']);
  });
});

describe("the text of a stored body", () => {
  const stored = async (body: string | Uint8Array): Promise<StoredMessageWithBody> => {
    const text = messageText("t", { ...view(body, 7), dueAt: 0, bodyBytes: 3, targetGroup: "body" });
    return new Wire(() => new Response(text)).client().admin.getMessage("t", { id: "a", partitionKey: "b" });
  };

  test.each(SOURCES)("is as it was published: %s", async (source) => {
    const message = await stored(source);
    expect([message.bodyText, message.body]).toEqual([source, JSON.parse(source)]);
    expect(Object.keys(message)).not.toContain("bodyText");
  });

  test("is none for bytes", async () => {
    const message = await stored(Uint8Array.of(97, 98));
    expect([message.bodyText, message.bodyBase64]).toEqual([undefined, "YWI="]);
  });
});

describe("a body that is published as text", () => {
  /** What the server would store. */
  const storedOf = ({ text }: Sent): unknown[] => {
    const read = readPublish(new TextEncoder().encode(text), () => "x");
    return read.ok ? read.messages.map(({ body }) => body) : [read.error];
  };
  const storing: Role = ({ json: request }) =>
    json({ messages: (request as { messages: object[] }).messages.map(() => ({ duplicate: false })) });

  test("is stored as it is, whatever JSON it is, without the white space around it", async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(jsonSource, { minLength: 1, maxLength: 4 }),
        whiteSpace,
        async (texts, gap) => {
          const wire = new Wire(storing);
          await wire.client().publishBatch(
            "t",
            texts.map((text) => ({ bodyText: spaced(text, gap), headers: { body: "1" } })),
          );
          const [first = ""] = texts;
          await wire.client().publish("t", { partitionKey: "p", bodyText: spaced(first, gap) });
          expect(wire.sent.flatMap(storedOf)).toEqual([...texts, first]);
        },
      ),
      { numRuns: 200 },
    );
  });
});
