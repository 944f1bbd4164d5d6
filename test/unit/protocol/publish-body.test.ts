import { describe, expect, test } from "vitest";
import { MAX_BODY_BYTES } from "../../../src/core/limits.ts";
import { spreadLane } from "../../../src/core/spread.ts";
import { MAX_ISSUES } from "../../../src/protocol/issues.ts";
import { readPublish } from "../../../src/protocol/publish-body.ts";
import { utf8Length } from "../../../src/protocol/utf8.ts";

const read = (text: string | Uint8Array) =>
  readPublish(typeof text === "string" ? new TextEncoder().encode(text) : text, () => "made");

function messages(text: string) {
  const outcome = read(text);
  if (!outcome.ok) throw new Error(JSON.stringify(outcome.error));
  return outcome.messages;
}

function paths(text: string | Uint8Array): string[] {
  const outcome = read(text);
  if (outcome.ok) throw new Error("accepted");
  expect(outcome.error.code).toBe("invalid-request");
  return outcome.error.issues?.map((issue) => issue.path) ?? [];
}

describe("what a message becomes", () => {
  test("all fields", () => {
    const text = `{"messages":[{"id":"i","partitionKey":"k","bodyBase64":"AP8=","contentType":"a/b",
      "headers":{"X-B":"é","2":"two","1":"\\"","__proto__":"p"},"delayMs":7}]}`;
    expect(messages(text)).toEqual([
      {
        id: "i",
        partitionKey: "k",
        body: new Uint8Array([0, 255]),
        contentType: "a/b",
        headers: '{"x-b":"é","2":"two","1":"\\"","__proto__":"p"}',
        delayMs: 7,
      },
    ]);
  });

  test("defaults: an ID is made, a lane chosen from it, JSON without content type, no headers, no delay", () => {
    expect(messages('{"messages":[{"body":null,"headers":{}}]}')).toEqual([
      {
        id: "made",
        partitionKey: spreadLane("made"),
        body: "null",
        contentType: null,
        headers: "",
        delayMs: 0,
      },
    ]);
    expect(messages('{"messages":[{"bodyBase64":""}]}')[0]?.contentType).toBe("application/octet-stream");
  });

  test("a lane depends on the ID alone", () => {
    const [a, b] = messages('{"messages":[{"id":"x","body":1},{"id":"x","body":2}]}');
    expect(a?.partitionKey).toBe(spreadLane("x"));
    expect(b?.partitionKey).toBe(a?.partitionKey);
  });

  test("a delay of -0 is 0", () => {
    expect(Object.is(messages('{"messages":[{"body":1,"delayMs":-0}]}')[0]?.delayMs, 0)).toBe(true);
  });
});

describe("what is refused", () => {
  test.each([
    ["a name twice", '{"messages":[{"id":"a","id":"a","body":1}]}', "messages[0].id"],
    ["a body twice, once escaped", '{"messages":[{"body":1,"\\u0062ody":1}]}', "messages[0].body"],
    ["messages twice", '{"messages":[{"body":1}],"messages":[{"body":1}]}', "messages"],
    ["a header twice", '{"messages":[{"body":1,"headers":{"a":"1","a":"1"}}]}', "messages[0].headers.a"],
    [
      "a header in two cases",
      '{"messages":[{"body":1,"headers":{"a":"1","A":"1"}}]}',
      "messages[0].headers.A",
    ],
    [
      "a header that only lowers to ASCII",
      '{"messages":[{"body":1,"headers":{"\u212a":""}}]}',
      'messages[0].headers["\u212a"]',
    ],
    [
      "a key of a later message",
      '{"messages":[{"body":1},{"body":1,"partitionKey":""}]}',
      "messages[1].partitionKey",
    ],
    ["no body", '{"messages":[{}]}', "messages[0].body"],
    ["a list", "[]", ""],
    ["no JSON", "{", ""],
    ["nothing", "", ""],
    ["a BOM", "\ufeff{}", ""],
  ])("%s", (_, text, path) => {
    expect(paths(text)).toEqual([path]);
  });

  test.each([
    ["a byte that starts nothing", [0xff]],
    ["a surrogate", [0xed, 0xa0, 0x80]],
    ["an overlong slash", [0xc0, 0xaf]],
    ["a character cut off", [0xe2, 0x82]],
  ])("in a body, what is not UTF-8: %s", (_, bytes) => {
    const [before = "", after = ""] = '{"messages":[{"body":"?"}]}'.split("?");
    const encoder = new TextEncoder();
    expect(paths(new Uint8Array([...encoder.encode(before), ...bytes, ...encoder.encode(after)]))).toEqual([
      "",
    ]);
  });

  test("headers up to their count and size, and not one more", () => {
    const withHeaders = (headers: object) => read(JSON.stringify({ messages: [{ body: 1, headers }] })).ok;
    expect(withHeaders({ ab: "v".repeat(8190) })).toBe(true);
    expect(withHeaders({ ab: "v".repeat(8191) })).toBe(false);
    expect(withHeaders({ ab: "é".repeat(4095) })).toBe(true);
    expect(withHeaders({ abc: "é".repeat(4095) })).toBe(false);
    const many = (count: number) =>
      Object.fromEntries(Array.from({ length: count }, (_, i) => [`h${i}`, ""]));
    expect(withHeaders(many(64))).toBe(true);
    expect(withHeaders(many(65))).toBe(false);
  });

  test("the list of issues is bounded, and so is what it repeats", () => {
    const fields = Array.from({ length: 5000 }, (_, i) => `"${"f".repeat(1000)}${i}":1`).join(",");
    const outcome = read(`{"messages":[{${fields}}]}`);
    if (outcome.ok) throw new Error("accepted");
    expect(outcome.error.issues).toHaveLength(MAX_ISSUES);
    expect(JSON.stringify(outcome.error).length).toBeLessThan(5000);
  });

  test("sizes count the UTF-8 bytes of the source text", () => {
    const body = (text: string) => `{"messages":[{"body":"${text}"}]}`;
    expect(read(body("j".repeat(MAX_BODY_BYTES - 2))).ok).toBe(true);
    expect(read(body("é".repeat(MAX_BODY_BYTES / 2 - 1))).ok).toBe(true);
    for (const text of ["j".repeat(MAX_BODY_BYTES - 1), `é${"é".repeat(MAX_BODY_BYTES / 2 - 1)}`]) {
      expect(read(body(text))).toMatchObject({ ok: false, error: { code: "payload-too-large" } });
    }
  });

  test("a request with an issue and one body too large is invalid first", () => {
    expect(paths(`{"messages":[{"body":"${"j".repeat(MAX_BODY_BYTES)}"},{"id":"","body":1}]}`)).toEqual([
      "messages[1].id",
    ]);
  });
});

test("the length in UTF-8 is the encoder's", () => {
  for (const text of ["", "a", "é", "漢", "🚚", "a\u07ff\u0800\uffff🚚z"]) {
    expect(utf8Length(text)).toBe(new TextEncoder().encode(text).length);
  }
});
