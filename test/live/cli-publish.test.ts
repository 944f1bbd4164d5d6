import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { makePlace, type Place } from "./cli-program.ts";
import { freshTopic, type Live, only, SECRET, setup } from "./harness.ts";

let live: Live;
let place: Place;
beforeAll(async () => {
  live = await setup();
  place = await makePlace(live);
});
afterAll(async () => {
  await place?.remove();
  await live?.close();
});

const bodyOf = async (topic: string, key: string, id: string) => {
  const path = `topics/${topic}/message?id=${encodeURIComponent(id)}&partitionKey=${encodeURIComponent(key)}`;
  return (await live.api("demo").request("GET", path)).text;
};

interface Row {
  id: string;
  publishedAt: number;
  dueAt: number;
  bodyBytes: number;
  contentType: string;
  headers: Record<string, string>;
}
const rowsOf = async (topic: string) =>
  (await live.api("demo").request<{ messages: Row[] }>("GET", `topics/${topic}/messages`)).json.messages;

describe("publish", () => {
  test("takes the message from flags, and keeps the numbers as they are written", async () => {
    const topic = freshTopic();
    const args = [
      "publish",
      topic,
      "--key",
      "k 1",
      "--id",
      "a/1",
      "--header",
      "x-a=b=c",
      "--header",
      "y=",
      "--json",
    ];
    const body = '{ "total":42.0,"large":9007199254740993,\t"tiny":1e-400,"a":1,"a":2,"text":"\\u00e9 \\n"}';
    const first = await place.ok([...args, "--body", body]);
    expect(first.json()).toEqual({ messages: [{ id: "a/1", partitionKey: "k 1", duplicate: false }] });
    const again = await place.ok([...args, "--body", body]);
    expect(again.json()).toEqual({ messages: [{ id: "a/1", partitionKey: "k 1", duplicate: true }] });
    const stored = await bodyOf(topic, "k 1", "a/1");
    expect(stored).toContain(`"body":${body},`);
    expect(JSON.parse(stored).headers).toEqual({ "x-a": "b=c", y: "" });
  });

  test("takes the body from stdin or a file, as JSON or as bytes of a type", async () => {
    const topic = freshTopic();
    const bytes = Uint8Array.from([0, 255, 10, 13, 128]);
    await writeFile(join(place.folder, "body.bin"), bytes);
    const common = ["--key", "k", "--content-type", "image/x-test"];
    await place.ok(["publish", topic, ...common, "--id", "file", "--file", "body.bin"]);
    await place.ok(["publish", topic, ...common, "--id", "stdin"], { stdin: bytes });
    await place.ok(["publish", topic, "--key", "k", "--id", "json"], { stdin: '"from stdin"\n' });
    for (const id of ["file", "stdin"]) {
      const stored = JSON.parse(await bodyOf(topic, "k", id));
      expect(stored).toMatchObject({ contentType: "image/x-test", bodyBase64: "AP8KDYA=" });
    }
    expect(JSON.parse(await bodyOf(topic, "k", "json")).body).toBe("from stdin");
  });

  test("delays", async () => {
    const topic = freshTopic();
    const { stdout } = await place.ok(["publish", topic, "--delay", "2h", "--body", "1"]);
    expect(stdout).toContain("published ");
    const message = only(await rowsOf(topic));
    expect(message.dueAt - message.publishedAt).toBe(7_200_000);
  });

  test("says which flag the server refused, and a body that is too large", async () => {
    const topic = freshTopic();
    const header = await place.run(["publish", topic, "--body", "1", "--header", "a b=1", "--json"]);
    expect(header.code).toBe(1);
    expect(header.failure()).toMatchObject({
      code: "invalid-request",
      issues: [{ path: 'messages[0].headers["a b"]' }],
    });
    const words = await place.run(["publish", topic, "--body", "1", "--header", "a b=1"]);
    expect(words.stderr).toContain("--header a b: must have a name");
    const large = await place.run(["publish", topic], { stdin: `"${"x".repeat(1024 * 1024)}"` });
    expect(large.code).toBe(2);
    expect(large.stderr).toContain("over 1048576 bytes");
  });
});

describe("publish --lines", () => {
  test("publishes each line, in order, and once", async () => {
    const topic = freshTopic();
    const line = (i: number) =>
      `{"id":"m${i}","partitionKey":"k${i % 3}","body" : { "n":${i}.0, "n":"\\u0041" } }`;
    const stdin = Array.from({ length: 250 }, (_, i) => line(i)).join("\n");
    const first = await place.ok(["publish", topic, "--lines", "--json"], { stdin });
    expect(first.lines()).toHaveLength(250);
    expect(first.lines()[1]).toEqual({ line: 2, id: "m1", partitionKey: "k1", duplicate: false });
    const again = await place.ok(["publish", topic, "--lines"], { stdin });
    expect(again.stderr).toContain("published 0 messages, 250 duplicates");
    const stored = await live.api("demo").listMessages(topic);
    expect(stored.map(({ id }) => id)).toEqual(Array.from({ length: 250 }, (_, i) => `m${i}`));
    expect(await bodyOf(topic, "k1", "m1")).toContain('"body":{ "n":1.0, "n":"\\u0041" },');
  });

  test("reports each line that is refused by its number, and publishes the others in order", async () => {
    const topic = freshTopic();
    const stdin = [
      '{"id":"a","partitionKey":"k","body":1}',
      "not json",
      '{"id":"b","partitionKey":"k","body":2,"headers":{"a b":"refused by the server"}}',
      "",
      '{"id":"c","partitionKey":"k","bodyBase64":"AAE=","contentType":"x/y","headers":{"h":"1"},"delayMs":0}',
      '{"id":"d","partitionKey":"k"}',
      '{"id":"e","partitionKey":"k","body":1,"bodyBase64":"AA=="}',
      '{"id":"f","partitionKey":"~k","body":1}',
      '{"id":7,"body":1}',
      '{"id":"g","partitionKey":"k","body":1,"delayMs":1.5}',
      `{"id":"h","partitionKey":"k","body":"${"x".repeat(1024 * 1024)}"}`,
      '{"id":"behind","partitionKey":"k","body":2}',
      `{"id":"i","partitionKey":"k","body":"${"x".repeat(2 * 1024 * 1024)}"}`,
      '{"id":"j","partitionKey":"k","body":3}',
    ].join("\r\n");
    const ended = await place.run(["publish", topic, "--lines"], { stdin });
    expect(ended.code).toBe(1);
    for (const [line, words] of [
      [2, "is not JSON"],
      [3, 'was refused: headers["a b"]'],
      [6, "must have a body"],
      [7, "must have a body"],
      [8, "partitionKey must not start with ~"],
      [9, "id must be a string"],
      [10, "delayMs must be an integer"],
      [11, "cannot be sent: body has over 1048576 bytes"],
      [13, "has over 2097152 bytes"],
    ] as const) {
      expect(ended.stderr).toMatch(new RegExp(`line ${line} ${words.replace(/[[\]"]/g, "\\$&")}`));
    }
    expect(ended.stderr).toContain("published 4 messages, 9 lines refused");
    const stored = await live.api("demo").listMessages(topic);
    expect(stored.map(({ id }) => id)).toEqual(["a", "c", "behind", "j"]);
    expect(JSON.parse(await bodyOf(topic, "k", "c"))).toMatchObject({
      bodyBase64: "AAE=",
      contentType: "x/y",
    });
  });

  test("takes raw lines as bodies, with what the flags say", async () => {
    const topic = freshTopic();
    const stdin = Buffer.concat([Buffer.from("caf\u00e9\n\n"), Buffer.from([0xff, 0x0a])]);
    await place.ok(["publish", topic, "--raw-lines", "--key", "web", "--header", "h=1"], { stdin });
    const rows = await rowsOf(topic);
    expect(rows.map(({ bodyBytes, headers }) => [bodyBytes, headers])).toEqual([
      [5, { h: "1" }],
      [0, { h: "1" }],
      [1, { h: "1" }],
    ]);
    expect(rows[0]?.contentType).toBe("text/plain; charset=utf-8");
  });

  test("stops where the server does not allow it, and says where", async () => {
    const topic = freshTopic();
    const { token } = (
      await place.ok(["token", "--tenant", "demo", "--scope", "consume", "--json"], {
        env: { AUTH_SECRET: SECRET },
      })
    ).json<{ token: string }>();
    const ended = await place.run(["publish", topic, "--lines", "--token", token], {
      stdin: '{"body":1}\n{"body":2}\n',
    });
    expect(ended.code).toBe(4);
    expect(ended.stderr).toContain("published 0 messages; stopped at the first line");
    expect(ended.stderr).toContain("lacks the scope publish");
  });

  test("an interruption ends it behind what is published, and says so", async () => {
    const topic = freshTopic();
    const running = place.start(["publish", topic, "--lines", "--json"], { stdin: null });
    running.child.stdin?.write('{"id":"a","body":1}\n{"id":"b","body":2}\n{"id":"c","bo');
    await running.shows('"b"');
    running.child.kill("SIGINT");
    const ended = await running.ended;
    expect(ended.code).toBe(130);
    expect(ended.lines()).toHaveLength(2);
    expect(ended.failure().code).toBe("interrupted");
    expect(await live.api("demo").listMessages(topic)).toHaveLength(2);
  });
});
