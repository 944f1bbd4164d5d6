import fc from "fast-check";
import { expect, test } from "vitest";
import { LineProblem, lineMessage } from "../../../src/cli/line-message.ts";
import { jsonSource, spaced, whiteSpace } from "../../property/json-spans-source.ts";

const messageOf = (line: string) => lineMessage(new TextEncoder().encode(line), {});

test("a line's body is passed on as it is written, whatever JSON it is and wherever it stands", () => {
  fc.assert(
    fc.property(jsonSource, whiteSpace, fc.boolean(), (source, gap, isFirst) => {
      const body = `"body"${gap}:${spaced(source, gap)}`;
      const others = '"id":"\\"body\\":0","headers":{"body":"]}"},"delayMs":5.0';
      const line = spaced(`{${isFirst ? `${body},${others}` : `${others},${gap}${body}`}}`, gap);
      expect(messageOf(line)).toEqual({
        id: '"body":0',
        headers: { body: "]}" },
        delayMs: 5,
        bodyText: source,
      });
    }),
    { numRuns: 300 },
  );
});

test("of a name that is there twice the last counts, for the body too", () => {
  expect(messageOf('{"body":1,"id":"a","body":2.0,"id":"b"}')).toEqual({ id: "b", bodyText: "2.0" });
});

test.each([
  ["secret", "is not JSON"],
  ["[1]", "is not a JSON object"],
  ['{"id":"a"}', "must have a body or a bodyBase64"],
  ['{"body":1,"bodyBase64":"AA=="}', "must have a body or a bodyBase64"],
  ['{"body":1,"contentType":"a/b"}', "contentType stands only beside bodyBase64"],
  ['{"bodyText":"1"}', 'has a field that no message has: "bodyText"'],
  ['{"body":1,"delayMs":1e400}', "delayMs must be an integer"],
  ['{"body":1,"headers":{"a":1.0}}', "headers must be an object of strings"],
])("%s can be no message", (line, words) => {
  expect(() => messageOf(line)).toThrow(LineProblem);
  expect(() => messageOf(line)).toThrow(words);
});
