import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { makePlace, type Place } from "./cli-program.ts";
import { freshTopic, ids, type Live, numbered, only, setup } from "./harness.ts";

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

const api = () => live.api("demo");
const groupOf = async (topic: string) => only((await api().getTopic(topic)).groups, "group");
const consume = (topic: string, ...more: string[]) => ["consume", topic, "--group", "g", ...more];

describe("consume", () => {
  test("prints bodies as they were published, and acks what it printed", async () => {
    const topic = freshTopic();
    await api().request("POST", `topics/${topic}/messages`, {
      text:
        '{"messages":[{"id":"a","partitionKey":"k","body":{"n": 1.0, "large":9007199254740993}},' +
        '{"id":"b","partitionKey":"k","bodyBase64":"G1szMW0=","headers":{"h":"v"}}]}',
    });
    const ended = await place.ok(consume(topic, "--max", "2"));
    expect(ended.stdout).toBe('{"n": 1.0, "large":9007199254740993}\n\x1b[31m\n');
    expect(ended.stderr).toBe(
      `group g is new in ${topic}: it begins with the earliest message\n2 messages acked\n`,
    );
    expect((await groupOf(topic)).backlog).toBe(0);
  });

  test("no way of looking changes a body", async () => {
    const topic = freshTopic();
    const body = '{ "n": 1.0, "n":9007199254740993,\t"e":1e400, "u":"\\u0041\\ud800" }';
    await api().request("POST", `topics/${topic}/messages`, {
      text: `{"messages":[{"id":"a","partitionKey":"k","body":${body}}]}`,
    });
    const json = await place.ok(consume(topic, "--max", "1", "--json"));
    expect(json.stdout).toContain(`,"body":${body}}`);
    const piped = await place.ok(["consume", topic, "--group", "piped", "--max", "1", "--", "cat"]);
    expect(piped.stdout).toBe(body);
    const tail = ["tail", topic, "--no-follow", "--bodies"];
    expect((await place.ok(tail)).stdout.split("\n").slice(1)).toEqual([body, ""]);
    expect((await place.ok([...tail, "--json"])).stdout).toContain(`,"body":${body}}`);
    const inspect = ["inspect", topic, "--key", "k", "--id", "a"];
    expect((await place.ok([...inspect, "--raw"])).stdout).toBe(body);
    expect((await place.ok([...inspect, "--json"])).stdout).toContain(`,"body":${body}}`);
  });

  test("as JSON lines has what the API has, but for what settles it", async () => {
    const topic = freshTopic();
    await api().publish(topic, [
      { id: "a", partitionKey: "k", body: { n: 1 }, headers: { h: "v" } },
      { id: "b", partitionKey: "k", bodyBase64: "AAE=", contentType: "x/y" },
    ]);
    const lines = (await place.ok(consume(topic, "--max", "2", "--json"))).lines();
    const common = {
      topic,
      partitionKey: "k",
      attempt: 1,
      offset: expect.any(Number),
      publishedAt: expect.any(Number),
      visibleUntil: expect.any(Number),
    };
    expect(lines).toEqual([
      { ...common, id: "a", body: { n: 1 }, contentType: "application/json", headers: { h: "v" } },
      { ...common, id: "b", bodyBase64: "AAE=", contentType: "x/y", headers: {} },
    ]);
  });

  test("takes no more than --max, and gives back nothing half done", async () => {
    const topic = freshTopic();
    await api().publish(topic, numbered(10, "k"));
    const ended = await place.ok(consume(topic, "--max", "3"));
    expect(ended.stdout).toBe("0\n1\n2\n");
    expect(await groupOf(topic)).toMatchObject({ backlog: 7, inFlight: 0, subscribers: 0 });
    const next = await api().receive(topic, "g", { maxMessages: 1 });
    expect(next.deliveries).toMatchObject([{ id: "m3", attempt: 1 }]);
  });

  test("ends when nothing comes any more, and leaves", async () => {
    const topic = freshTopic();
    await api().publish(topic, numbered(2, "k"));
    const ended = await place.ok(consume(topic, "--idle-exit", "400ms", "--subscriber", "me"));
    expect(ended.stdout).toBe("0\n1\n");
    expect((await groupOf(topic)).subscribers).toBe(0);
  });

  test("a reader that goes away ends it quietly, and loses nothing", async () => {
    const topic = freshTopic();
    await api().publish(topic, numbered(50, "k"));
    const running = place.start(consume(topic, "--concurrency", "1"));
    await running.shows("1\n");
    running.child.stdout?.destroy();
    const ended = await running.ended;
    expect(ended.code).toBe(0);
    expect(ended.stderr).not.toContain("fairlane:");
    const { backlog, inFlight } = await groupOf(topic);
    expect(inFlight).toBe(0);
    // What was handed over before the pipe closed may be acked; whatever was not comes again.
    if (backlog > 0) expect((await api().receive(topic, "g")).deliveries[0]).toMatchObject({ attempt: 1 });
  });

  test("Ctrl-C ends it, and leaves", async () => {
    const topic = freshTopic();
    await api().publish(topic, numbered(1, "k"));
    const running = place.start(consume(topic));
    await running.shows("0\n");
    running.child.kill("SIGINT");
    expect((await running.ended).code).toBe(130);
    expect(await groupOf(topic)).toMatchObject({ backlog: 0, subscribers: 0 });
  });
});

describe("consume with a program", () => {
  test("gives it the body and the message, and takes exit code 0 as done", async () => {
    const topic = freshTopic();
    const message = { id: "a b", partitionKey: "k\u00e9", body: { n: 1 }, headers: { h: "v" } };
    await api().publish(topic, [message]);
    await writeFile(
      join(place.folder, "program.sh"),
      '#!/bin/sh\ncat; echo; echo "$1|$FAIRLANE_ID|$FAIRLANE_PARTITION_KEY|$FAIRLANE_ATTEMPT|$FAIRLANE_TOPIC|$FAIRLANE_GROUP|$FAIRLANE_HEADERS|$FAIRLANE_TENANT|$FAIRLANE_CONTENT_TYPE|$FAIRLANE_TOKEN"\n',
      { mode: 0o755 },
    );
    const ended = await place.ok(consume(topic, "--max", "1", "--", "./program.sh", "--json"));
    expect(ended.stdout).toBe(`{"n":1}\n--json|a b|k\u00e9|1|${topic}|g|{"h":"v"}|demo|application/json|\n`);
    expect((await groupOf(topic)).backlog).toBe(0);
  });

  test("another exit code, or a signal, nacks with the last line of stderr; 75 postpones", async () => {
    const topic = freshTopic();
    await api().putGroup(topic, "g", { retry: { initialBackoffMs: 60_000, maxBackoffMs: 60_000 } });
    await api().publish(topic, [
      {
        id: "fails",
        partitionKey: "a",
        body: "echo first >&2; echo 'no such account' >&2; echo >&2; exit 3",
      },
      { id: "silent", partitionKey: "b", body: "exit 4" },
      { id: "killed", partitionKey: "c", body: "kill -9 $$" },
      { id: "later", partitionKey: "d", body: "exit 75" },
      { id: "fine", partitionKey: "e", body: "true" },
    ]);
    const command = `node -e 'process.stdin.on("data", d => { require("fs").writeFileSync("s-" + process.env.FAIRLANE_ID, JSON.parse(d)) })' && exec sh "s-$FAIRLANE_ID"`;
    const ended = await place.run(
      consume(topic, "--max", "5", "--json", "--postpone", "1h", "--exec", command),
    );
    expect(ended.code).toBe(1);
    const failure = ended.stderr.split("\n").find((line) => line.startsWith('{"error"')) ?? "";
    expect(JSON.parse(failure).error).toMatchObject({ message: "3 messages nacked", exitCode: 1 });
    const byId = new Map(ended.lines<{ id: string }>().map((line) => [line.id, line]));
    expect(byId.get("fails")).toMatchObject({
      action: "nack",
      reason: "no such account",
      exitCode: 3,
      signal: null,
    });
    expect(byId.get("silent")).toMatchObject({ action: "nack", reason: "exit code 4" });
    expect(byId.get("killed")).toMatchObject({ action: "nack", reason: "ended by SIGKILL", exitCode: null });
    expect(byId.get("later")).toMatchObject({ action: "postpone", delayMs: 3_600_000 });
    expect(byId.get("fine")).toMatchObject({ action: "ack" });
    expect(ended.stderr).toContain("no such account\n");
    const states = await Promise.all(
      ["fails", "later", "fine"].map(async (id, index) => {
        const key = ["a", "d", "e"][index];
        const path = `topics/${topic}/groups/g/explain?partitionKey=${key}&id=${id}`;
        return (await api().request<{ state: string }>("GET", path)).json.state;
      }),
    );
    expect(states).toEqual(["backing-off", "postponed", "settled"]);
  });

  test("a nacked message makes the run fail, and Ctrl-C is an interruption all the same", async () => {
    const topic = freshTopic();
    await api().putGroup(topic, "g", { retry: { initialBackoffMs: 60_000, maxBackoffMs: 60_000 } });
    await api().publish(topic, [
      ...numbered(1, "a", "a"),
      ...numbered(1, "b", "b"),
      ...numbered(1, "c", "c"),
    ]);
    const failed = await place.run(consume(topic, "--max", "2", "--exec", "exit 3"));
    expect(failed.code).toBe(1);
    expect(failed.stderr).toContain("0 messages acked, 2 nacked\nfairlane: 2 messages nacked\n");
    const running = place.start(consume(topic, "--exec", "exit 3"));
    await running.shows("nacked");
    running.child.kill("SIGINT");
    expect((await running.ended).code).toBe(130);
  });

  test("a group that is new is said to be, with those that may have been meant", async () => {
    const topic = freshTopic();
    for (const group of ["billing", "billing-2", "search"]) await api().putGroup(topic, group);
    const made = await place.ok(["consume", topic, "--group", "biling", "--idle-exit", "300ms"]);
    expect(made.stderr).toContain(
      `group biling is new in ${topic}: it begins with the earliest message; did you mean billing?\n`,
    );
    const known = await place.ok(["consume", topic, "--group", "biling", "--idle-exit", "300ms"]);
    expect(known.stderr).not.toContain("is new");
  });

  test("Ctrl-C lets it end; its message is settled", async () => {
    const topic = freshTopic();
    await api().publish(topic, numbered(3, "k"));
    const running = place.start(
      consume(topic, "--exec", "echo begun; until [ -e go ]; do sleep 0.05; done; echo ended"),
    );
    await running.shows("begun");
    running.child.kill("SIGINT");
    await writeFile(join(place.folder, "go"), "");
    const ended = await running.ended;
    expect(ended.code).toBe(130);
    expect(ended.stdout).toBe("begun\nended\n");
    expect(await groupOf(topic)).toMatchObject({ backlog: 2, inFlight: 0, subscribers: 0 });
  });

  test("one that does not end in time is ended, and its message comes again as the same attempt", async () => {
    const topic = freshTopic();
    await api().publish(topic, numbered(1, "k"));
    const running = place.start(
      consume(topic, "--drain", "100ms", "--exec", "echo $$ > pid; echo begun; exec sleep 60"),
    );
    await running.shows("begun");
    running.child.kill("SIGTERM");
    expect((await running.ended).code).toBe(130);
    const next = await api().receiveCount(topic, "g", 1);
    expect(next).toMatchObject([{ id: "m0", attempt: 1 }]);
    const pid = Number(await readFile(join(place.folder, "pid"), "utf8"));
    expect(() => process.kill(pid, 0), "the program is gone").toThrow("ESRCH");
  });

  test("programs of one partition run one after the other, of several beside each other", async () => {
    const topic = freshTopic();
    await api().publish(topic, [...numbered(3, "a", "a"), ...numbered(3, "b", "b")]);
    // Each waits for one of the other partition: alone it would wait for ever.
    const command =
      `set -e; me=$FAIRLANE_PARTITION_KEY; [ ! -e busy-$me ]; touch busy-$me seen-$FAIRLANE_ID; n=\${FAIRLANE_ID#?}; ` +
      "until [ -e seen-a$n ] && [ -e seen-b$n ]; do sleep 0.02; done; rm busy-$me; echo $FAIRLANE_ID";
    const ended = await place.ok(consume(topic, "--max", "6", "--concurrency", "4", "--exec", command));
    const order = ended.stdout.trim().split("\n");
    expect(order.filter((id) => id.startsWith("a"))).toEqual(["a0", "a1", "a2"]);
    expect(order.filter((id) => id.startsWith("b"))).toEqual(["b0", "b1", "b2"]);
    expect(ended.stderr).not.toContain("nacked");
  });

  test("what it left running holds nothing up: its exit code counts when it ends", async () => {
    const topic = freshTopic();
    await api().publish(topic, numbered(2, "k"));
    const command = "sleep 60 > /dev/null & echo $! >> left; echo last words >&2; exit 0";
    const startedMs = Date.now();
    const ended = await place.ok(consume(topic, "--max", "2", "--exec", command));
    expect(Date.now() - startedMs).toBeLessThan(20_000);
    expect(ended.stderr).toContain("2 messages acked");
    for (const pid of (await readFile(join(place.folder, "left"), "utf8")).trim().split("\n"))
      process.kill(Number(pid));
  });

  test("a signal that it ignores does not leave it behind", async () => {
    const topic = freshTopic();
    await api().publish(topic, numbered(1, "k"));
    const stubborn = "trap '' TERM; echo $$ > stubborn; echo begun; while :; do sleep 0.05; done";
    const running = place.start(consume(topic, "--drain", "0s", "--exec", stubborn));
    await running.shows("begun");
    running.child.kill("SIGINT");
    expect((await running.ended).code).toBe(130);
    const pid = Number(await readFile(join(place.folder, "stubborn"), "utf8"));
    expect(() => process.kill(pid, 0), "the program is gone").toThrow("ESRCH");
  });
});

describe("tail", () => {
  test("shows the last ones and then what comes, and consumes nothing", async () => {
    const topic = freshTopic();
    await api().publish(topic, numbered(15, "k"));
    const running = place.start(["tail", topic, "--json", "--bodies", "-n", "2"]);
    await running.shows('"m14"');
    await api().publish(topic, [{ id: "new", partitionKey: "k", body: { n: 1 } }]);
    await running.shows('"new"');
    running.child.kill("SIGINT");
    const ended = await running.ended;
    expect(ended.code).toBe(130);
    expect(ids(ended.lines<{ id: string }>())).toEqual(["m13", "m14", "new"]);
    expect(ended.lines()[2]).toMatchObject({ body: { n: 1 }, bodyBytes: 7 });
    expect((await api().getTopic(topic)).groups).toEqual([]);
  });

  test("of one partition, without following, in columns", async () => {
    const topic = freshTopic();
    await api().publish(topic, [...numbered(3, "a", "a"), ...numbered(3, "b", "b")]);
    const { stdout } = await place.ok(["tail", topic, "--no-follow", "--key", "b"]);
    const rows = stdout.trim().split("\n");
    expect(rows.map((row) => row.split("\t").slice(2))).toEqual([
      ["b", "b0", "1"],
      ["b", "b1", "1"],
      ["b", "b2", "1"],
    ]);
    const bodies = await place.ok(["tail", topic, "--no-follow", "-n", "1", "--bodies"]);
    expect(bodies.stdout).toMatch(/\tb2\t1\n2\n$/);
    expect((await place.ok(["tail", topic, "--no-follow", "-n", "0"])).stdout).toBe("");
  });
});
