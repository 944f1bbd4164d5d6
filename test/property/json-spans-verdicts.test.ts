import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { issuesOf } from "../../src/protocol/issues.ts";
import { publishRequest } from "../../src/protocol/publish.ts";
import { readPublish } from "../../src/protocol/publish-body.ts";

/**
 * The hot path validates by hand, the document shows the schema: they must agree on every request whose
 * verdict depends on values alone (repeated names, sizes and encodings are the hand-written reader's).
 */
const encoder = new TextEncoder();

const key = fc.oneof(
  fc.string({ unit: "grapheme", maxLength: 6 }),
  fc.constantFrom("", " ", "a ", "~1", "~", "a\0b", "\ud800", "k".repeat(255), "k".repeat(256)),
  fc.constantFrom("🚚".repeat(255), "🚚".repeat(256), null, 1, {}),
);
const headerName = fc.constantFrom("a", "A", "x-dev", "b c", "", "é", "__proto__", "K", "1", "2", "~|");
const headerValue = fc.oneof(
  fc.string({ unit: "binary", maxLength: 4 }),
  fc.constantFrom("v", "\r", "\n", "\0", "\ud800", "v".repeat(5000), 1, null, "é".repeat(4096)),
);
const headers = fc.oneof(
  fc.uniqueArray(fc.tuple(headerName, headerValue), { selector: ([name]) => name, maxLength: 3 }),
  fc
    .integer({ min: 63, max: 66 })
    .map((n) => Array.from({ length: n }, (_, i) => [`h${i}`, ""] as [string, unknown])),
);
const field = fc.oneof(
  { weight: 4, arbitrary: fc.tuple(fc.constant("id"), key) },
  { weight: 4, arbitrary: fc.tuple(fc.constant("partitionKey"), key) },
  { weight: 8, arbitrary: fc.tuple(fc.constant("body"), fc.jsonValue({ maxDepth: 1 })) },
  {
    weight: 3,
    arbitrary: fc.tuple(
      fc.constant("bodyBase64"),
      fc.constantFrom(
        "",
        "AA==",
        "AAA=",
        "AAAA",
        "AA",
        "AB==",
        "AAB=",
        "A===",
        "AA A",
        "_-8=",
        "é===",
        1,
        null,
      ),
    ),
  },
  {
    weight: 3,
    arbitrary: fc.tuple(
      fc.constant("contentType"),
      fc.constantFrom("a/b", "", " a", "a ", "a b", "é", "a\n", "c".repeat(255), "c".repeat(256), 1, null),
    ),
  },
  {
    weight: 3,
    arbitrary: fc.tuple(
      fc.constant("delayMs"),
      fc.constantFrom(0, 1, 604_800_000, 604_800_001, -1, 1.5, 1e300, "1", null),
    ),
  },
  { weight: 1, arbitrary: fc.tuple(fc.constantFrom("bdy", "__proto__", "toString", "a b"), fc.constant(1)) },
);
const objectText = (fields: (readonly [string, unknown])[]) =>
  `{${fields.map(([name, value]) => `${JSON.stringify(name)}:${JSON.stringify(value)}`).join(",")}}`;
const messageText = fc
  .tuple(
    fc.oneof(
      fc.uniqueArray(field, { selector: ([name]) => name, maxLength: 4 }),
      // One doubtful field beside a good body: otherwise hardly a request would pass.
      field.map((one) => (one[0].startsWith("body") ? [one] : [["body", 1] as [string, unknown], one])),
    ),
    fc.option(
      headers.map((pairs) => objectText(pairs)),
      { nil: undefined, freq: 3 },
    ),
  )
  .map(([fields, headersText]) => {
    const text = objectText(fields);
    if (headersText === undefined) return text;
    return `{"headers":${headersText}${text === "{}" ? "" : ","}${text.slice(1)}`;
  });
const requestText = fc.oneof(
  {
    weight: 10,
    arbitrary: fc.array(messageText, { minLength: 1, maxLength: 2 }).map((all) => `{"messages":[${all}]}`),
  },
  {
    weight: 1,
    arbitrary: fc.constantFrom(
      "{}",
      "[]",
      "null",
      "1",
      '{"messages":[]}',
      '{"messages":{}}',
      '{"messages":[1]}',
      '{"messages":[null]}',
      '{"messages":[[]]}',
      '{"messages":[{"body":1}],"more":1}',
      '{"messages":[{"body":1}],"__proto__":1}',
      `{"messages":[${Array(100).fill('{"body":1}')}]}`,
      `{"messages":[${Array(101).fill('{"body":1}')}]}`,
    ),
  },
);

describe("the hand-written reader and the documented schema", () => {
  test("accept and refuse the same requests", () => {
    let accepted = 0;
    fc.assert(
      fc.property(requestText, (text) => {
        const read = readPublish(encoder.encode(text), () => "made");
        const schema = publishRequest.safeParse(JSON.parse(text));
        if (read.ok) accepted++;
        expect(read.ok, JSON.stringify({ text, read, issues: schema.error?.issues })).toBe(schema.success);
      }),
      { numRuns: 3000 },
    );
    // A generator that only makes bad requests would prove nothing.
    expect(accepted).toBeGreaterThan(200);
  });

  test("name the same field when one field of one message is wrong", () => {
    fc.assert(
      fc.property(field, ([name, value]) => {
        const body = name === "body" || name === "bodyBase64" ? [] : [["body", 1] as const];
        const text = `{"messages":[${objectText([...body, [name, value]])}]}`;
        const read = readPublish(encoder.encode(text), () => "made");
        const schema = publishRequest.safeParse(JSON.parse(text));
        const paths = read.ok ? [] : read.error.issues?.map((issue) => issue.path);
        const expected = schema.success ? [] : issuesOf(schema.error).map((issue) => issue.path);
        expect(new Set(paths), text).toEqual(new Set(expected));
      }),
      { numRuns: 1000 },
    );
  });
});
