import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { DEFAULT_GROUP_SETTINGS, DEFAULT_TOPIC_SETTINGS } from "../../src/core/settings.ts";
import { inThisProcess, makePlace, type Place } from "./cli-program.ts";
import { freshTopic, type Live, numbered, only, SECRET, setup, until } from "./harness.ts";

let live: Live;
let place: Place;
/** For a second look at a command that a process has run: the same program, without the time that a process takes. */
let here: Pick<Place, "ok" | "run">;
beforeAll(async () => {
  live = await setup();
  place = await makePlace(live);
  here = inThisProcess(live, place.folder);
});
afterAll(async () => {
  await place?.remove();
  await live?.close();
});

const api = () => live.api("demo");
/** What the API answers to a GET, to compare with what the command prints. */
const answer = async (path: string) => (await api().request("GET", path)).json;
const cells = (stdout: string) =>
  stdout
    .trimEnd()
    .split("\n")
    .map((row) => row.split("\t"));

/** A topic with three messages of two partitions; group g has acked the first of them. */
async function sample(): Promise<string> {
  const topic = freshTopic("sample");
  await api().publish(topic, [
    { id: "a0", partitionKey: "a", body: { n: 0 } },
    { id: "b0", partitionKey: "b", body: "text" },
    { id: "a1", partitionKey: "a", body: 1 },
  ]);
  const { deliveries } = await api().receive(topic, "g", { maxMessages: 1 });
  await api().ack(topic, "g", deliveries);
  return topic;
}

/** A topic of which group g failed `count` messages for good. */
async function failed(count: number, group = "g", topic = freshTopic("failed")): Promise<string> {
  await api().putGroup(topic, group, { maxInFlightPerPartition: 1000 });
  for (let at = 0; at < count; at += 75) {
    await api().publish(topic, numbered(count, "k").slice(at, at + 75));
    const deliveries = await api().receiveCount(topic, group, Math.min(75, count - at));
    const reject = ({ receipt }: { receipt: string }) => ({
      receipt,
      action: "reject" as const,
      reason: "no\tgood",
    });
    await api().settle(topic, group, deliveries.map(reject));
  }
  const letters = async () => (await api().deadLetters(topic)).filter((letter) => letter.group === group);
  await until("dead letters", async () => (await letters()).length === count);
  return topic;
}

describe("looking", () => {
  test("status", async () => {
    const words = await here.ok(["status"]);
    expect(words.stdout).toContain(`${live.url} (FAIRLANE_URL)`);
    expect(words.stdout).toMatch(/tenant +demo \(the default\)/);
    expect(words.stdout).not.toContain(live.token);
    expect((await place.ok(["healthz", "--json"])).json()).toEqual({
      ...((await live.open("GET", "/healthz")).json as object),
      url: live.url,
      urlFrom: "FAIRLANE_URL",
      tenant: "demo",
      tenantFrom: "the default",
      hasToken: true,
      tokenFrom: expect.stringMatching(/token$/),
      profile: null,
    });
  });

  test("topics", async () => {
    const topic = await sample();
    const rows = await until("the figures", async () => {
      const found = cells((await here.ok(["topics"])).stdout).find(([name]) => name === topic);
      return found?.[1] !== "" && found;
    });
    expect(rows).toEqual([topic, "3", expect.stringMatching(/^20.*Z$/), "0", "g", "2"]);
    type Listed = { topic: string; messages?: number; groups?: { group: string; backlog: number }[] };
    const listed = (await place.ok(["topics", "--json"])).json<{ topics: Listed[] }>().topics;
    expect(listed.map((each) => each.topic)).toEqual(
      ((await answer("topics")) as { topics: string[] }).topics,
    );
    expect(listed.find((each) => each.topic === topic)).toMatchObject({
      messages: 3,
      deadLetters: 0,
      groups: [{ group: "g", backlog: 2 }],
    });
    expect((await here.ok(["topics", "--tenant", "globex"])).stderr).toContain("globex has no topic yet");
  });

  test("topic-stats and groups", async () => {
    const topic = await sample();
    expect((await place.ok(["topic-stats", topic, "--json"])).json()).toEqual(
      await answer(`topics/${topic}`),
    );
    const { stdout } = await here.ok(["topic-stats", topic]);
    expect(stdout).toMatch(/messages +3\npartitions +2\n/);
    expect(cells(stdout).at(-1)?.slice(0, 2)).toEqual(["g", "2"]);
    const { groups } = (await answer(`topics/${topic}`)) as { groups: unknown };
    expect((await place.ok(["groups", topic, "--json"])).json()).toEqual({ groups });
    expect(cells((await here.ok(["groups", "list", topic])).stdout)[0]?.[0]).toBe("g");
  });

  test("messages, and inspect", async () => {
    const topic = await sample();
    const page = (await place.ok(["messages", topic, "--json"])).json<{ messages: { offset: number }[] }>();
    expect(page).toEqual(await answer(`topics/${topic}/messages`));
    const first = await here.ok(["messages", topic, "--key", "a", "--limit", "1"]);
    expect(cells(first.stdout)[0]?.slice(1, 3)).toEqual(["a", "a0"]);
    expect(first.stderr).toContain(`there are more: --after ${page.messages[0]?.offset}`);
    expect(cells((await here.ok(["messages", topic, "--last", "1"])).stdout)[0]?.[2]).toBe("a1");

    const whole = await place.ok(["inspect", topic, "--key", "a", "--id", "a0", "--json"]);
    expect(whole.json()).toEqual(await answer(`topics/${topic}/message?id=a0&partitionKey=a`));
    const byOffset = await here.ok(["inspect", topic, "--offset", String(page.messages[1]?.offset)]);
    expect(byOffset.stdout).toMatch(/id +b0\n[\s\S]*\n\n"text"\n$/);
    expect((await here.ok(["inspect", topic, "--key", "b", "--id", "b0", "--raw"])).stdout).toBe('"text"');
    const where = ["--key", "b", "--offset", String(page.messages[1]?.offset)];
    expect((await here.ok(["inspect", topic, ...where, "--raw"])).stdout).toBe('"text"');
    const elsewhere = await here.run(["inspect", topic, "--key", "a", ...where.slice(2)]);
    expect([elsewhere.code, elsewhere.stderr]).toEqual([
      3,
      expect.stringContaining(`partition a of topic ${topic} has no message at offset`),
    ]);
  });

  test("explain, waiting and subscribers", async () => {
    const topic = await sample();
    await api().publish(topic, [{ id: "later", partitionKey: "c", body: 1, delayMs: 3_600_000 }]);
    const explained = await here.ok(["explain", topic, "g", "--key", "c", "--id", "later"]);
    expect(explained.stdout).toMatch(/^later of partition c in \S+, for group g: delayed\n/);
    expect(explained.stdout).toMatch(
      /until +\S+.*\(in 60 min\)[\s\S]*Next change: .*\(in 60 min\), then deliverable\n$/,
    );
    const { offset, state } = (
      await place.ok(["explain", topic, "g", "--key", "a", "--id", "a0", "--json"])
    ).json();
    expect(state).toBe("settled");
    const byOffset = await place.ok([
      "explain",
      topic,
      "g",
      "--key",
      "a",
      "--offset",
      String(offset),
      "--json",
    ]);
    expect(byOffset.json()).toMatchObject({ id: "a0", state: "settled" });
    const missing = await place.ok(["explain", topic, "g", "--key", "a", "--id", "nope", "--json"]);
    expect(missing.json()).toMatchObject({ state: "not-found" });

    // Its one subscriber counts as asking for a moment after its last receive: until then nothing waits.
    await until("the lane", async () => {
      const { stdout } = await here.ok(["waiting", topic, "g"]);
      return cells(stdout).some(([partitionKey]) => partitionKey === "b");
    });
    const waiting = (await place.ok(["waiting", topic, "g", "--json"])).json<{
      lanes: { partitionKey: string }[];
    }>();
    expect(waiting.lanes.map(({ partitionKey }) => partitionKey)).toContain("b");
    expect(cells((await here.ok(["waiting", topic, "g", "--limit", "1"])).stdout)).toHaveLength(1);

    const subscribers = await place.ok(["subscribers", topic, "g", "--json"]);
    expect(only(subscribers.json<{ subscribers: unknown[] }>().subscribers)).toMatchObject({
      subscriber: "s1",
    });
    expect(cells((await here.ok(["subscribers", topic, "g"])).stdout)[0]?.[0]).toBe("s1");
  });

  test("explain says what to do, and which other group has somebody", async () => {
    const topic = freshTopic();
    await api().putGroup(topic, "paymnt");
    await api().putGroup(topic, "payment", { paused: true });
    await api().request("POST", `topics/${topic}/groups/payment/subscribers/s1/heartbeat`);
    await api().request("POST", `topics/${topic}/groups/audit/receive`, { json: { subscriber: "a1" } });
    await api().publish(topic, [{ id: "m", partitionKey: "k", body: 1 }]);
    const asked = [topic, "paymnt", "--key", "k", "--id", "m"];
    const alone = await here.ok(["explain", ...asked]);
    expect(alone.stdout).toContain(
      `\ndo: start a consumer, such as: fairlane consume ${topic} --group paymnt -- <program>\n`,
    );
    const [nearest, other] = alone.stderr.split("\n");
    expect(nearest).toBe("group payment of this topic has 1 live subscriber: is it the one you mean?");
    expect(other).toContain("group audit of this topic has 1 live subscriber");
    expect((await here.ok(["explain", ...asked, "--json"])).stderr).toBe("");
    const paused = await here.ok(["explain", topic, "payment", "--key", "k", "--id", "m"]);
    expect(paused.stdout).toContain(`\ndo: resume it: fairlane groups resume ${topic} payment\n`);
    expect(paused.stderr).toBe("");
  });

  test("waiting says that what is under way is not done", async () => {
    const topic = freshTopic();
    await api().publish(topic, [{ id: "m", partitionKey: "k", body: 1 }]);
    await api().receive(topic, "g");
    const busy = await here.ok(["waiting", topic, "g"]);
    expect(busy.stdout).toBe("");
    expect(busy.stderr).toBe(
      `no lane of group g waits\n1 message is in flight, delayed or about to be delivered: fairlane lag ${topic} g, or explain one by its ID\n`,
    );
    await api().putGroup(topic, "idle", { startFrom: "latest" });
    expect((await here.ok(["waiting", topic, "idle"])).stderr).toBe("no lane of group idle waits\n");
  });

  test("lag, offsets and leases", async () => {
    const topic = await sample();
    const path = `topics/${topic}/groups/g`;
    expect((await place.ok(["offsets", topic, "g", "--json"])).json()).toEqual(await answer(`${path}/lag`));
    expect((await place.ok(["lag", topic, "g", "--all", "--json"])).json()).toEqual(
      await answer(`${path}/lag`),
    );
    const lag = await here.ok(["lag", topic, "g"]);
    expect(cells(lag.stdout).map((row) => row.slice(0, 2))).toEqual([
      ["a", "1"],
      ["b", "1"],
    ]);
    expect(lag.stderr).toContain("2 messages in 2 partitions");
    expect(cells((await here.ok(["offsets", topic, "g"])).stdout)).toHaveLength(2);
    expect((await place.ok(["leases", topic, "g", "--json"])).json()).toEqual(await answer(`${path}/leases`));
    expect(cells((await here.ok(["leases", topic, "g"])).stdout)[0]?.slice(0, 2)).toEqual(["a", "s1"]);
    expect((await here.ok(["leases", topic, "g", "--stale-for", "1h"])).stderr).toContain("nobody holds");
  });

  test("a hundred partitions and more are read page by page", async () => {
    const topic = freshTopic();
    await api().putGroup(topic, "g");
    for (const part of [0, 1]) {
      const message = (i: number) => ({ partitionKey: `k${part}-${String(i).padStart(2, "0")}`, body: i });
      await api().publish(
        topic,
        Array.from({ length: 75 }, (_, i) => message(i)),
      );
    }
    const all = (await place.ok(["offsets", topic, "g", "--json"])).json<{
      partitions: unknown[];
      next: null;
    }>();
    expect([all.partitions.length, all.next]).toEqual([150, null]);
    const lag = await here.ok(["lag", topic, "g"]);
    expect(cells(lag.stdout)).toHaveLength(20);
    expect(lag.stderr).toContain("150 messages in 150 partitions, 130 of them not shown");
  });

  test("the dashboard's address, and a token that the server takes", async () => {
    const address = new URL((await place.ok(["ui", "--json"])).json<{ url: string }>().url);
    expect(address.origin + address.pathname).toBe(`${live.url}/ui`);
    const given = new URLSearchParams(address.hash.slice(1));
    expect([given.get("token"), given.get("tenant")]).toEqual([live.token, "demo"]);

    const minted = await place.ok(
      ["token", "--tenant", "acme", "--scope", "admin consume", "--ttl", "5m", "--json"],
      {
        env: { AUTH_SECRET: SECRET },
      },
    );
    const { token, expiresAt } = minted.json<{ token: string; expiresAt: number }>();
    expect(Math.abs(expiresAt - Date.now() - 300_000)).toBeLessThan(60_000);
    expect((await live.api("acme", token).request("GET", "topics")).status).toBe(200);
    expect((await live.api("demo", token).request("GET", "topics")).status).toBe(403);
    expect((await live.api("acme", token).request("POST", "topics/x/messages", { json: {} })).status).toBe(
      403,
    );
  });
});

describe("settings", () => {
  test("of a new group or topic are the defaults where none is given, and printed", async () => {
    const topic = freshTopic();
    const made = await place.ok(["groups", "set", topic, "g", "--json"]);
    expect(made.json()).toMatchObject({ ...DEFAULT_GROUP_SETTINGS, createdBy: "admin" });
    await here.ok(["groups", "set", topic, "g", "--max-attempts", "7"]);
    expect((await here.ok(["groups", "set", topic, "g"])).stdout).toMatch(/attempts +7\n/);
    const settings = await here.ok(["topics", "set", freshTopic(), "--json"]);
    expect(settings.json()).toEqual(DEFAULT_TOPIC_SETTINGS);
  });

  test("of groups: set, get, pause, resume, delete", async () => {
    const topic = freshTopic();
    const flags =
      "--strict --visibility-timeout 2m --lease-duration 1m --max-attempts 5 --backoff 5s --backoff-multiplier 1.5 " +
      "--max-backoff 10m --no-dead-letters --start-from latest";
    const made = await place.ok(["groups", "set", topic, "g", ...flags.split(" "), "--json"]);
    const settings = {
      visibilityTimeoutMs: 120_000,
      leaseDurationMs: 60_000,
      maxInFlightPerPartition: 1,
      maxAttempts: 5,
      retry: { initialBackoffMs: 5000, multiplier: 1.5, maxBackoffMs: 600_000 },
      deadLetters: false,
      startFrom: "latest",
      paused: false,
      createdBy: "admin",
    };
    expect(made.json()).toEqual(settings);
    expect((await here.ok(["groups", "pause", topic, "g"])).stdout).toContain("is paused");
    const paused = (await place.ok(["groups", "get", topic, "g", "--json"])).json();
    expect(paused).toEqual({ ...settings, paused: true });
    expect((await place.ok(["groups", "resume", topic, "g", "--json"])).json()).toEqual(settings);
    expect((await here.ok(["groups", "get", topic, "g"])).stdout).toMatch(
      /in flight a partition +1 \(strict\)/,
    );

    await api().receive(topic, "g");
    const held = await here.run(["groups", "delete", topic, "g", "--yes"]);
    expect([held.code, held.stderr]).toEqual([1, expect.stringContaining("1 live subscriber")]);
    expect((await here.run(["groups", "delete", topic, "g", "--force"])).code).toBe(2);
    expect((await api().getTopic(topic)).groups).toHaveLength(1);
    const gone = await place.ok(["groups", "delete", topic, "g", "--force", "--yes", "--json"]);
    expect(gone.json()).toEqual({ deleted: 1 });
    expect((await api().getTopic(topic)).groups).toEqual([]);
  });

  test("of topics", async () => {
    const topic = freshTopic();
    const set = await place.ok([
      "topics",
      "set",
      topic,
      "--retention",
      "1d",
      "--max-retention",
      "14d",
      "--json",
    ]);
    expect(set.json()).toEqual({ retentionMs: 86_400_000, maxRetentionMs: 1_209_600_000 });
    const wrong = await here.run(["topics", "set", topic, "--retention", "15d", "--max-retention", "14d"]);
    expect([wrong.code, wrong.stderr]).toEqual([
      1,
      expect.stringContaining("--max-retention: must not be below"),
    ]);
  });
});

describe("what changes or deletes", () => {
  test("gc", async () => {
    const reply = await place.ok(["gc", "--until-done", "--json"]);
    expect(reply.json()).toEqual({ deletedMessages: 0, releasedPartitions: 0, stopped: "done" });
  });

  test("reset-offset delivers again, and release-lease frees", async () => {
    const topic = await sample();
    const refused = await here.run(["reset-offset", topic, "g", "--key", "a", "--to", "earliest"]);
    expect(refused.code).toBe(2);
    expect(refused.stderr).toContain("where 2 messages will be delivered");
    const reset = await place.ok([
      "reset-offset",
      topic,
      "g",
      "--key",
      "a",
      "--to",
      "earliest",
      "--yes",
      "--json",
    ]);
    expect(reset.json()).toEqual({ partitionKey: "a", acked: 0 });
    expect((await here.ok(["lag", topic, "g"])).stdout).toContain("a\t2\t0\t");
    const latest = await here.ok(["reset-offset", topic, "g", "--key", "a", "--to", "latest", "--yes"]);
    expect(latest.stdout).toMatch(/^group g goes on behind offset \d+ in a\n$/);
    expect((await here.ok(["lag", topic, "g"])).stdout).not.toContain("a\t");

    await api().receive(topic, "g");
    expect((await here.run(["release-lease", topic, "g", "--key", "b"])).stderr).toContain(
      "from subscriber s1",
    );
    const released = await place.ok(["release-lease", topic, "g", "--key", "b", "--yes", "--json"]);
    expect(released.json()).toEqual({ released: 1 });
    expect((await here.run(["release-lease", topic, "g", "--key", "b", "--yes"])).code).toBe(3);
  });

  test("delete, then purge", async () => {
    const topic = await sample();
    const refused = await here.run(["delete", topic, "--key", "a", "--id", "a0"]);
    expect([refused.code, refused.stderr]).toEqual([
      2,
      expect.stringContaining("This deletes message a0 of partition a"),
    ]);
    const deleted = await place.ok(["delete", topic, "--key", "a", "--id", "a0", "--yes", "--json"]);
    expect(deleted.json()).toEqual({ deleted: 1 });
    expect((await here.run(["delete", topic, "--key", "a", "--id", "a0", "--yes"])).code).toBe(3);
    const asked = await place.run(["purge", topic, "--json"]);
    expect(asked.code).toBe(2);
    expect(asked.failure().message).toContain("This deletes 2 messages from topic");
    expect(asked.failure().message).toContain("Not settled yet by: g");
    expect(await api().listMessages(topic)).toHaveLength(2);
    expect((await place.ok(["purge", topic, "--yes", "--json"])).json()).toEqual({ deleted: 2 });
    expect(await api().listMessages(topic)).toEqual([]);
  });

  test("dead letters: list, redrive one, those of a group, all, and purge", async () => {
    const topic = await failed(3);
    await failed(3, "other", topic);
    expect((await place.ok(["dead-letters", topic, "--json"])).json()).toEqual(
      await answer(`topics/${topic}/dead-letters`),
    );
    const rows = cells((await here.ok(["dead-letters", topic, "--limit", "2"])).stdout);
    expect(rows.map((row) => [row[1], row[2], row[3], row[4], row[6]])).toEqual([
      ["k", "m0", "g", "1", "no\\tgood"],
      ["k", "m1", "g", "1", "no\\tgood"],
    ]);
    const kept = await here.ok(["dead-letters", `${topic}_dlq`, "--limit", "2"]);
    expect(cells(kept.stdout)).toEqual(rows);
    expect(kept.stderr).toContain(`the dead letters of topic ${topic} are listed under ${topic}\n`);
    const letter = await here.ok(["inspect", `${topic}_dlq`, "--key", "k", "--id", "m0"]);
    expect(letter.stdout).toMatch(/failed by +group g of topic/);

    const redrive = async (...flags: string[]) =>
      (await place.ok(["redrive", topic, ...flags, "--json"])).json<{ redriven: number }>().redriven;
    expect(await redrive("--key", "k", "--id", "m0", "--group", "g")).toBe(1);
    const gone = await here.run(["redrive", topic, "--key", "k", "--id", "m0", "--group", "g"]);
    expect([gone.code, gone.stderr]).toEqual([3, expect.stringContaining("is not there")]);
    expect((await here.run(["redrive", topic, "--all"])).code).toBe(2);
    expect(await redrive("--group", "other", "--yes")).toBe(3);
    expect(await redrive("--all", "--yes")).toBe(2);
    expect(await redrive("--all", "--yes")).toBe(0);
    expect((await here.ok(["dead-letters", topic])).stderr).toContain("no dead letters");

    const purged = await failed(2);
    expect((await here.run(["purge-dead-letters", purged])).stderr).toContain(
      "This deletes 2 dead letters of topic",
    );
    const reply = await place.ok(["purge-dead-letters", purged, "--yes", "--json"]);
    expect(reply.json()).toEqual({ deleted: 2 });
    expect(await api().deadLetters(purged)).toEqual([]);
  });

  test("redrive ends also where messages fail again at once", async () => {
    const topic = await failed(150);
    const stop = new AbortController();
    const failing = (async () => {
      while (!stop.signal.aborted) {
        const { deliveries } = await api().receive(topic, "g", { maxMessages: 100, waitMs: 200 });
        const settlements = deliveries.map(({ receipt }) => ({
          receipt,
          action: "reject" as const,
          reason: "again",
        }));
        if (settlements.length > 0) await api().settle(topic, "g", settlements);
      }
    })();
    const ended = await place.ok(["redrive", topic, "--all", "--yes", "--json"]);
    stop.abort();
    await failing;
    // Each of those that were there, once.
    expect(ended.json()).toEqual({ redriven: 150 });
  });
});

const line = (words: string) => here.run(words.split(" "));

describe("what is not there is exit code 3, and says what is", () => {
  beforeAll(async () => {
    await api().publish("orders", [{ id: "i", partitionKey: "k", body: 1 }]);
    await api().putGroup("orders", "billing");
  });

  test.each([
    "topic-stats %",
    "messages %",
    "inspect % --key k --id i",
    "inspect % --offset 5",
    "tail %",
    "delete % --key k --id i --yes",
    "purge % --yes",
    "dead-letters %",
    "redrive % --all --yes",
    "redrive % --key k --id i",
    "purge-dead-letters % --yes",
    "lag % billing",
    "offsets % billing",
    "leases % billing",
    "release-lease % billing --key k --yes",
    "reset-offset % billing --key k --offset 0 --yes",
    "explain % billing --key k --id i",
    "waiting % billing",
    "subscribers % billing",
    "groups %",
    "groups get % billing",
    "groups pause % billing",
    "groups resume % billing",
    "groups delete % billing --yes",
  ])("%s", async (words) => {
    const topic = await line(words.replace("%", "ordrs"));
    expect([topic.code, topic.stdout]).toEqual([3, ""]);
    expect(topic.stderr).toContain("did you mean the topic orders?");
    if (!words.includes("billing")) return;
    const group = await line(words.replace("%", "orders").replace("billing", "biling"));
    expect([group.code, group.stdout]).toEqual([3, ""]);
    expect(group.stderr).toContain("did you mean the group billing?");
    expect((await api().getTopic("orders")).groups.map((one) => one.group)).toEqual(["billing"]);
  });

  test("a message", async () => {
    for (const command of [
      "inspect orders --key k --id x",
      "delete orders --key k --id x --yes",
      "inspect orders --offset 5",
    ]) {
      const { code, stderr } = await line(command);
      expect([code, stderr], command).toEqual([3, expect.stringContaining("has no message")]);
    }
    const lease = await line("release-lease orders billing --key k --yes");
    expect([lease.code, lease.stderr]).toEqual([3, expect.stringContaining("nobody holds this partition")]);
  });

  test("a tenant", async () => {
    const { code, stderr } = await line("topics --tenant nope --json");
    expect(code).toBe(3);
    expect(JSON.parse(stderr).error).toMatchObject({ code: "unknown-tenant", exitCode: 3, status: 404 });
  });
});
