import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import type { Api } from "./api.ts";
import { freshTopic, ids, type Live, numbered, only, setup } from "./harness.ts";
import { expectProblem } from "./problem.ts";

let live: Live;
let api: Api;
let topic: string;
beforeAll(async () => {
  live = await setup();
  api = live.api("demo");
});
afterAll(() => live?.close());
beforeEach(async () => {
  topic = freshTopic();
  await api.publish(topic, [{ id: "before", partitionKey: "k", body: 1 }]);
});

async function expectNothingStored(): Promise<void> {
  expect(ids(await api.listMessages(topic))).toEqual(["before"]);
}

const publishText = (text: string | Uint8Array) =>
  api.request("POST", `topics/${topic}/messages`, { text, headers: { "content-type": "application/json" } });

describe("publish: IDs and keys that cannot be kept exactly", () => {
  const bad: [string, string][] = [
    ["empty", '""'],
    ["NUL", '"a\\u0000b"'],
    ["only NUL", '"\\u0000"'],
    ["a trailing space", '"a "'],
    ["only a space", '" "'],
    ["a lone high surrogate", '"\\ud800"'],
    ["a lone low surrogate", '"a\\udc00"'],
    ["surrogates the wrong way round", '"\\udc00\\ud800"'],
    ["256 characters", `"${"k".repeat(256)}"`],
    ["256 four-byte characters", `"${"🚚".repeat(256)}"`],
    ["a number", "1"],
    ["null", "null"],
    ["a list", '["a"]'],
    ["an object", "{}"],
    ["true", "true"],
  ];
  for (const field of ["id", "partitionKey"] as const) {
    test.each(bad)(`${field}: %s`, async (_, source) => {
      const other = field === "id" ? '"partitionKey":"k"' : '"id":"x"';
      const reply = await publishText(`{"messages":[{"${field}":${source},${other},"body":1}]}`);
      expectProblem(reply, "invalid-request", `messages[0].${field}`);
      await expectNothingStored();
    });
  }
});

describe("publish: envelopes", () => {
  const ok = '{"id":"x","partitionKey":"k","body":1}';
  const bad: [string, string, string?][] = [
    ["nothing", ""],
    ["white space", "  \n"],
    ["not JSON", "hello"],
    ["truncated", '{"messages":[{"id":"x"'],
    ["truncated in a string", '{"messages":[{"id":"x'],
    ["truncated in an escape", '{"messages":[{"id":"\\u00'],
    ["more after the end", `{"messages":[${ok}]}{}`],
    ["a trailing comma", `{"messages":[${ok},]}`],
    ["a comment", `{"messages":[${ok}]} // done`],
    ["single quotes", "{'messages':[]}"],
    ["NaN", '{"messages":[{"id":"x","partitionKey":"k","body":NaN}]}'],
    ["a leading zero", '{"messages":[{"id":"x","partitionKey":"k","body":01}]}'],
    ["a raw line break in a string", '{"messages":[{"id":"x","partitionKey":"k","body":"a\nb"}]}'],
    ["a raw NUL in a string", '{"messages":[{"id":"x","partitionKey":"k","body":"a\u0000b"}]}'],
    ["a raw NUL outside", `{"messages":[${ok}]}\u0000`],
    ["a list", `[${ok}]`],
    ["text", '"messages"'],
    ["null", "null"],
    ["a number", "7"],
    ["an empty object", "{}", "messages"],
    ["messages null", '{"messages":null}', "messages"],
    ["messages an object", `{"messages":${ok}}`, "messages"],
    ["a message that is null", `{"messages":[${ok},null]}`, "messages[1]"],
    ["a message that is text", `{"messages":["x"]}`, "messages[0]"],
    ["a message that is a list", `{"messages":[[]]}`, "messages[0]"],
    ["an unknown field", `{"messages":[${ok}],"mesages":1}`, "mesages"],
    ["an unknown field in a message", '{"messages":[{"id":"x","key":"k","body":1}]}', "messages[0].key"],
    ["__proto__ as a field", `{"messages":[${ok}],"__proto__":{}}`, "__proto__"],
    [
      "__proto__ in a message",
      '{"messages":[{"id":"x","body":1,"__proto__":{"id":"y"}}]}',
      "messages[0].__proto__",
    ],
    ["a field of a prototype", `{"messages":[{"id":"x","body":1,"toString":1}]}`, "messages[0].toString"],
    ["messages twice", `{"messages":[${ok}],"messages":[${ok}]}`],
    ["an ID twice", '{"messages":[{"id":"x","id":"y","partitionKey":"k","body":1}]}'],
    ["a body twice", '{"messages":[{"id":"x","partitionKey":"k","body":1,"body":2}]}'],
    ["a body twice, once escaped", '{"messages":[{"id":"x","partitionKey":"k","body":1,"\\u0062ody":2}]}'],
    ["deep nesting that never ends", `{"messages":${"[".repeat(100_000)}`],
    ["deep nesting in place of messages", `{"messages":${"[".repeat(100_000)}${"]".repeat(100_000)}}`],
    ["deep nesting in place of an ID", `{"messages":[{"body":1,"id":${"[".repeat(1e5)}${"]".repeat(1e5)}}]}`],
  ];
  test.each(bad)("%s", async (_, text, path) => {
    expectProblem(await publishText(text), "invalid-request", path);
    await expectNothingStored();
  });

  const bytes: [string, Uint8Array][] = [
    ["a BOM", Buffer.from(`\uFEFF{"messages":[${ok}]}`)],
    ["UTF-16", Buffer.from(`{"messages":[${ok}]}`, "utf16le")],
    ["invalid UTF-8 in a body", patched('{"messages":[{"id":"x","partitionKey":"k","body":"?"}]}', [0xff])],
    ["invalid UTF-8 in a key", patched('{"messages":[{"id":"x","partitionKey":"?","body":1}]}', [0xc3])],
    ["an overlong slash", patched('{"messages":[{"id":"x","partitionKey":"?","body":1}]}', [0xc0, 0xaf])],
    [
      "a surrogate as UTF-8",
      patched('{"messages":[{"id":"x","partitionKey":"?","body":1}]}', [0xed, 0xa0, 0x80]),
    ],
    [
      "beyond Unicode",
      patched('{"messages":[{"id":"x","partitionKey":"?","body":1}]}', [0xf4, 0x90, 0x80, 0x80]),
    ],
    ["UTF-8 cut at the end", Buffer.concat([Buffer.from(`{"messages":[${ok}]}`), Buffer.from([0xe2, 0x82])])],
  ];
  test.each(bytes)("%s", async (_, text) => {
    expectProblem(await publishText(text), "invalid-request");
    await expectNothingStored();
  });

  test("several faults are all named", async () => {
    const reply = await publishText(
      '{"messages":[{"id":"","body":1},{"id":"x","partitionKey":"","body":1}]}',
    );
    const problem = expectProblem(reply, "invalid-request", "messages[0].id");
    expect(problem.issues?.map((issue) => issue.path)).toContain("messages[1].partitionKey");
    await expectNothingStored();
  });

  test("a hundred bad messages do not make a reply without end", async () => {
    const messages = Array.from({ length: 100 }, () => ({
      id: "",
      partitionKey: "",
      delayMs: -1,
      headers: { a: 1 },
    }));
    const reply = await api.request("POST", `topics/${topic}/messages`, { json: { messages } });
    expectProblem(reply, "invalid-request");
    expect(reply.text.length).toBeLessThan(64 * 1024);
    await expectNothingStored();
  });

  test("what was sent is not echoed at length", async () => {
    const reply = await publishText(`{"messages":[{"id":"x","body":1,"${"n".repeat(500_000)}":1}]}`);
    expectProblem(reply, "invalid-request");
    expect(reply.text.length).toBeLessThan(16 * 1024);
    await expectNothingStored();
  });
});

describe("publish: duplicates in one batch", () => {
  test("same ID and key, as an escape and as itself", async () => {
    const reply = await publishText(
      '{"messages":[{"id":"é","partitionKey":"k","body":1},{"id":"\\u00e9","partitionKey":"\\u006b","body":2}]}',
    );
    expect(reply.status, reply.text).toBe(200);
    expect(reply.json).toEqual({
      messages: [
        { id: "é", partitionKey: "k", duplicate: false },
        { id: "é", partitionKey: "k", duplicate: true },
      ],
    });
    expect(ids(await api.listMessages(topic))).toEqual(["before", "é"]);
  });

  test("a whole batch of one ID stores one", async () => {
    const messages = Array.from({ length: 100 }, (_, i) => ({ id: "same", partitionKey: "k", body: i }));
    const published = await api.publish(topic, messages);
    expect(published.map((message) => message.duplicate)).toEqual(messages.map((_, i) => i > 0));
    expect(ids(await api.listMessages(topic))).toEqual(["before", "same"]);
  });

  test("publishing what is stored already, mixed with new, stores the new only", async () => {
    const published = await api.publish(topic, [
      { id: "before", partitionKey: "k", body: 2 },
      { id: "new", partitionKey: "k", body: 3 },
      { id: "before", partitionKey: "k", body: 4 },
    ]);
    expect(published.map((message) => message.duplicate)).toEqual([true, false, true]);
    const deliveries = await api.receiveCount(topic, "g", 2);
    expect(deliveries.map((delivery) => delivery.body)).toEqual([1, 3]);
  });
});

describe("names in the path", () => {
  const badTopics = [
    "T",
    "t".repeat(125),
    ".t",
    "-t",
    "_t",
    "t%20",
    "%20t",
    "t%2F..%2Fu",
    "t%00",
    "%E2%82",
    "t'",
    "t%25",
    "~t",
    "*",
  ];
  test.each(badTopics)("topic %s", async (name) => {
    const calls: [string, string, unknown?][] = [
      ["POST", `topics/${name}/messages`, { messages: numbered(1, "k") }],
      ["POST", `topics/${name}/raw`, {}],
      ["POST", `topics/${name}/groups/g/receive`, { subscriber: "s" }],
      ["GET", `topics/${name}`],
    ];
    for (const [method, path, json] of calls) {
      const reply = await api.request(method, path, json === undefined ? {} : { json });
      expectProblem(reply, "invalid-request", "topic");
    }
    await expectNothingStored();
  });

  test.each(["G", "g".repeat(129), ".g", "g%2Fh", "g%0A", "🚚"])("group %s", async (name) => {
    const receive = { json: { subscriber: "s" } };
    const reply = await api.request("POST", `topics/${topic}/groups/${name}/receive`, receive);
    expectProblem(reply, "invalid-request", "group");
    expect((await api.getTopic(topic)).groups).toEqual([]);
  });
});

describe("query parameters", () => {
  test.each([
    ["POST", "messages?dryRun=true", "dryRun"],
    ["POST", "groups/g/receive?waitMs=5", "waitMs"],
    ["GET", "messages?limit=1&limit=1", "limit"],
    ["GET", "messages?Limit=1", "Limit"],
    ["GET", "groups/g?force=true", "force"],
    ["DELETE", "messages?partitionKey=k", "partitionKey"],
  ])("%s %s is refused", async (method, path, field) => {
    const json = path.startsWith("messages") ? { messages: numbered(1, "k") } : { subscriber: "s" };
    const options = method === "POST" ? { json } : {};
    expectProblem(await api.request(method, `topics/${topic}/${path}`, options), "invalid-request", field);
    await expectNothingStored();
  });
});

describe("receipts", () => {
  test("a receipt with an odd shape is invalid, never an error, and touches nothing", async () => {
    const { receipt } = only((await api.receive(topic, "g")).deliveries);
    const odd = [
      "",
      " ",
      receipt.toUpperCase() === receipt ? receipt.toLowerCase() : receipt.toUpperCase(),
      ` ${receipt}`,
      `${receipt} `,
      `${receipt}0`,
      receipt.slice(1),
      receipt.split("").reverse().join(""),
      "-1",
      "9".repeat(400),
      "\u0000",
      "\ud800",
      "../..",
      "' OR 1=1 --",
    ];
    for (const madeUp of odd) {
      const reply = await api.request<{ results?: { status: string }[] }>(
        "POST",
        `topics/${topic}/groups/g/settle`,
        {
          json: { settlements: [{ receipt: madeUp, action: "ack" }] },
        },
      );
      // An empty or endless receipt may also be refused as a request; it may never be taken for good.
      if (reply.status === 400) expectProblem(reply, "invalid-request", "settlements[0].receipt");
      else expect(["invalid", "stale"], JSON.stringify(madeUp)).toContain(reply.json.results?.[0]?.status);
    }
    expect(await api.settleOne(topic, "g", { receipt, action: "ack" })).toBe("ok");
  });

  test("a receipt with another offset or nonce in it is not taken", async () => {
    await api.publish(topic, numbered(3, "k"));
    const { deliveries } = await api.receive(topic, "g");
    const [first, second] = deliveries;
    if (!first || !second) return expect.fail("two deliveries");
    // Any crossing of two receipts of the same shape must not settle either.
    for (let cut = 1; cut < first.receipt.length; cut++) {
      const crossed = first.receipt.slice(0, cut) + second.receipt.slice(cut);
      if (crossed === first.receipt || crossed === second.receipt) continue;
      const status = await api.settleOne(topic, "g", { receipt: crossed, action: "ack" });
      expect(["invalid", "stale"], crossed).toContain(status);
    }
    await api.ack(topic, "g", deliveries);
  });
});

describe("other requests", () => {
  test.each([
    ["POST", "topics/t/groups/g/receive"],
    ["POST", "topics/t/groups/g/settle"],
    ["PUT", "topics/t/groups/g"],
    ["PUT", "topics/t"],
    ["PUT", "topics/t/groups/g/offset"],
    ["POST", "topics/t/dead-letters/redrive"],
  ])("%s %s refuses what is not a JSON object", async (method, path) => {
    for (const text of ["{", "[]", "null", '"x"', `${"[".repeat(100_000)}`, "{}{}", "\uFEFF{}"]) {
      const headers = { "content-type": "application/json" };
      expectProblem(await api.request(method, path, { text, headers }), "invalid-request");
    }
    const invalidUtf8 = patched('{"subscriber":"?"}', [0xff]);
    expectProblem(await api.request(method, path, { text: invalidUtf8 }), "invalid-request");
    const prototype = await api.request(method, path, { text: '{"__proto__":{"subscriber":"s"}}' });
    expectProblem(prototype, "invalid-request");
  });

  test("a body in chunks without a length is read, and refused when it is endless", async () => {
    const chunks = (count: number, tail: string) =>
      new ReadableStream({
        start(controller) {
          controller.enqueue(new TextEncoder().encode('{"messages":['));
          for (let i = 0; i < count; i++) controller.enqueue(new Uint8Array(1024 * 1024).fill(0x20));
          controller.enqueue(new TextEncoder().encode(tail));
          controller.close();
        },
      });
    const send = (body: ReadableStream) => api.request("POST", `topics/${topic}/messages`, { stream: body });
    const fits = await send(chunks(1, '{"id":"x","partitionKey":"k","body":1}]}'));
    expect(fits.status, fits.text).toBe(200);
    expectProblem(await send(chunks(12, "]}")), "payload-too-large");
    expect(ids(await api.listMessages(topic))).toEqual(["before", "x"]);
  });

  test("an endless body is refused", async () => {
    const text = `{"subscriber":"s"${" ".repeat(9 * 1024 * 1024)}}`;
    const reply = await api.request("POST", `topics/${topic}/groups/g/receive`, { text });
    expectProblem(reply, "payload-too-large");
  });

  test("a reason with NUL or a lone surrogate is refused or kept, never half done", async () => {
    for (const reason of ["a\u0000b", "\ud800", "🚚".repeat(2000), "\u0007"]) {
      const other = freshTopic();
      await api.publish(other, numbered(1, "k"));
      const { receipt } = only((await api.receive(other, "g")).deliveries);
      const reply = await api.request("POST", `topics/${other}/groups/g/settle`, {
        json: { settlements: [{ receipt, action: "reject", reason }] },
      });
      if (reply.status === 200)
        expect(reply.json).toMatchObject({ results: [{ status: "ok", deadLettered: true }] });
      else expectProblem(reply, "invalid-request", "settlements[0].reason");
    }
  });

  test("white space, order and escapes in a request mean nothing", async () => {
    const text = ' {\n"maxMessages" : 1e0 ,\t"sub\\u0073criber":"s" } ';
    const reply = await api.request("POST", `topics/${topic}/groups/g/receive`, { text });
    expect(reply.status, reply.text).toBe(200);
    expect(reply.json).toMatchObject({ deliveries: [{ id: "before" }] });
  });
});

/** The UTF-8 bytes of `text` with its only `?` replaced by `bytes`. */
function patched(text: string, bytes: number[]): Uint8Array {
  const [before = "", after = ""] = text.split("?");
  return Buffer.concat([Buffer.from(before), Buffer.from(bytes), Buffer.from(after)]);
}
