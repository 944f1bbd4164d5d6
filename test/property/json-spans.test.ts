import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { scanPublishSpans } from "../../src/protocol/json-spans.ts";
import { readPublish } from "../../src/protocol/publish-body.ts";
import { jsonSource, spaced, whiteSpace } from "./json-spans-source.ts";

const encoder = new TextEncoder();
const noId = () => "made";

function bodiesOf(text: string): (string | Uint8Array)[] {
  const read = readPublish(encoder.encode(text), noId);
  if (!read.ok) throw new Error(`refused: ${JSON.stringify(read.error)}`);
  return read.messages.map((message) => message.body);
}

describe("G12 exact bytes: the source text of each body comes back", () => {
  test("whatever stands in it and around it", () => {
    const message = fc.record({
      source: jsonSource,
      before: fc.subarray(['"id":"a\\"},{b"', '"partitionKey":"[\\\\"', '"headers":{"body":"x"}']),
      after: fc.subarray(['"delayMs":5', '"headers":{"a":"}]"}']),
      gaps: fc.array(whiteSpace, { minLength: 4, maxLength: 4 }),
    });
    fc.assert(
      fc.property(fc.array(message, { minLength: 1, maxLength: 5 }), whiteSpace, (messages, gap) => {
        const texts = messages.map(({ source, before, after, gaps }) => {
          const [a = "", b = "", c = "", d = ""] = gaps;
          const kept = after.filter(
            (part) => !part.includes("headers") || !before.some((p) => p.includes("headers")),
          );
          const fields = [...before, `"body"${a}:${b}${source}${c}`, ...kept];
          return `{${d}${fields.join(`${d},${a}`)}}`;
        });
        const text = `${gap}{${gap}"messages"${gap}:${gap}[${texts.join(`${gap},${gap}`)}]}${gap}`;
        expect(bodiesOf(text)).toEqual(messages.map(({ source }) => source));
      }),
      { numRuns: 500 },
    );
  });

  test.each([
    "1.0",
    "1e400",
    "-0",
    "12345678901234567890",
    '"\\ud800"',
    '"\\udc00 \\u0000 \\/"',
    '{"__proto__":1,"__proto__":2,"a":{"a":1,"a":1.0}}',
    "[ 1 ,\t2\r\n, {} , [ ] ]",
    '"]}\\\\"',
    '"\\\\\\""',
    '{"messages":[{"body":1}]}',
    "null",
    "false",
    '""',
    '"é 🚚 \u2028"',
  ])("%s", (source) => {
    expect(bodiesOf(`{"messages":[{"body":${source}},{"body" : ${source} }]}`)).toEqual([source, source]);
  });

  test("a body's name may be written with escapes", () => {
    expect(bodiesOf('{"messages":[{"\\u0062od\\u0079":1.0}]}')).toEqual(["1.0"]);
  });

  test("nesting of any depth overflows nothing", () => {
    const deep = `${"[".repeat(400_000)}${"]".repeat(400_000)}`;
    const mixed = `${'{"a":['.repeat(100_000)}1.0${"]}".repeat(100_000)}`;
    expect(bodiesOf(`{"messages":[{"body":${deep}},{"body":${mixed}}]}`)).toEqual([deep, mixed]);
  });

  test("the scan is linear: a megabyte of quotes and backslashes is read at once", () => {
    const source = `"${'\\\\\\"'.repeat(200_000)}"`;
    const startedMs = performance.now();
    expect(bodiesOf(`{"messages":[{"body":${source}}]}`)).toEqual([source]);
    // A quadratic scan takes minutes for it.
    expect(performance.now() - startedMs).toBeLessThan(2000);
  });
});

describe("names of the envelope", () => {
  test("come in source order, repeated ones included", () => {
    const spans = scanPublishSpans('{"a":{"x":[1]},"messages":[],"a":"\\"","\\u0061":null}', 10);
    expect(spans.names).toEqual(["a", "messages", "a", "a"]);
  });

  test("header names too, also those that look like integers", () => {
    const [message] = scanPublishSpans(
      '{"messages":[{"headers":{"b":"","2":"","1":"","b":""}}]}',
      10,
    ).messages;
    expect(message?.headerNames).toEqual(["b", "2", "1", "b"]);
  });

  test("no more messages are read than asked for", () => {
    expect(scanPublishSpans(`{"messages":[${"{},".repeat(999)}{}]}`, 7).messages).toHaveLength(7);
  });

  test("any JSON text is walked to its end without a fault", () => {
    fc.assert(
      fc.property(jsonSource, whiteSpace, (source, gap) => {
        scanPublishSpans(spaced(source, gap), 10);
        scanPublishSpans(`{"messages":${source}}`, 10);
      }),
    );
  });
});
