import { existsSync } from "node:fs";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { inThisProcess, makePlace, type Place } from "./cli-program.ts";
import { freshTopic, type Live, setup, until } from "./harness.ts";
import { dev, messagesFor, routesOf } from "./split-calls.ts";

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
const here = () => inThisProcess(live, place.folder);
const START = ["x-dev=alice", "--ttl", "1s"];
const start = (topic: string, ...more: string[]) => ["split", "start", topic, "g", "alice", ...more];

interface Line {
  event: string;
  route: { route: string; delivered: number; backlog: number };
  application: { delivered: number };
  wentBack?: number;
}

/** Of a program that goes on for half a minute at most, so that no failing test leaves it behind. */
const ticks = (each: string) => `for i in $(seq 600); do ${each}; sleep 0.05; done`;

async function withGroup(): Promise<string> {
  const topic = freshTopic();
  await api().putGroup(topic, "g", {});
  return topic;
}

describe.concurrent("split start", () => {
  test("lends messages while it runs, says how many went where, and gives the rest back", async () => {
    const topic = await withGroup();
    const running = place.start(start(topic, ...START));
    await running.shows("application: 0 delivered");
    await api().publish(topic, messagesFor(["a1", "m1", "a2", "a3"]));
    const consume = ["consume", topic, "--group", "g", "--route", "alice", "--max", "2"];
    expect((await here().ok(consume)).stdout).toBe('"a1"\n"a2"\n');
    await api().receiveCount(topic, "g", 1);
    await running.shows("alice: 2 delivered, 1 unsettled, no subscriber; application: 1 delivered");
    running.child.kill("SIGINT");
    const ended = await running.ended;
    expect(ended.code).toBe(130);
    expect(ended.stdout).toMatch(
      /\nroute alice ended: 2 messages went to it, 1 to the application; 1 went back\n$/,
    );
    expect(ended.stderr).toContain(`route alice of group g in ${topic} started: x-dev=alice\n`);
    expect(ended.stderr).toContain(`fairlane consume ${topic} --group g --route alice`);
    expect((await routesOf(live, topic).list()).json.routes).toEqual([]);
    expect(await api().receiveCount(topic, "g", 1)).toMatchObject([{ id: "a3", attempt: 1 }]);
  });

  test("as JSON tells of each change in a line; a route that is gone is started again", async () => {
    const topic = await withGroup();
    const running = place.start([...start(topic, ...START), "--json"]);
    await running.shows('"counts"');
    await routesOf(live, topic).end("alice");
    await running.shows("route alice was gone: the server lost it, or it was ended; started again");
    await api().publish(topic, messagesFor(["a1"]));
    await running.shows('"backlog":1');
    running.child.kill("SIGTERM");
    const ended = await running.ended;
    expect(ended.code).toBe(130);
    expect(ended.stderr).toMatch(/^\{"warning":/);
    const lines = ended.lines<Line>();
    expect(lines[0]).toMatchObject({ event: "started", route: { route: "alice", filter: dev("alice") } });
    expect(new Set(lines.slice(1, -1).map(({ event }) => event))).toEqual(new Set(["counts"]));
    expect(lines.at(-1)).toMatchObject({ event: "ended", route: { backlog: 1 }, wentBack: 1 });
  });

  test("leaves a route that somebody gave another filter to them", async () => {
    const topic = await withGroup();
    const running = place.start(start(topic, ...START));
    await running.shows("application: 0 delivered");
    await routesOf(live, topic).start("alice", dev("carol"), { ttlMs: 60_000 });
    const ended = await running.ended;
    expect(ended.code).toBe(1);
    expect(ended.stderr).toContain("somebody gave route alice another filter: x-dev=carol; it is theirs now");
    expect((await routesOf(live, topic).get("alice")).json.filter).toEqual(dev("carol"));
  });

  test("of a route that is there with another filter is refused, unless it is to replace it", async () => {
    const topic = await withGroup();
    await routesOf(live, topic).start("alice", dev("carol"));
    const refused = await here().run([...start(topic, ...START), "--detach"]);
    expect(refused.code).toBe(1);
    expect(refused.stderr).toContain("route alice is there already, with another filter: x-dev=carol");
    await here().ok([...start(topic, ...START), "--detach", "--replace"]);
    expect((await routesOf(live, topic).get("alice")).json.filter).toEqual(dev("alice"));
    const again = await here().ok([...start(topic, ...START), "--detach"]);
    expect(again.stderr).toContain("route alice is there already, with this filter: it goes on");
  });

  test("of two that would take the same message names the other one, and the message", async () => {
    const topic = await withGroup();
    await routesOf(live, topic).start("alice", { header: "x-user", prefix: "a" });
    const bob = ["split", "start", topic, "g", "bob", "x-user~=.b"];
    const refused = await here().run(bob);
    expect(refused.code).toBe(1);
    expect(refused.stderr).toMatch(/^fairlane: route bob overlaps alice, for example \{x-user: "ab"\}\n/);
    const json = (await here().run([...bob, "--json"])).failure();
    expect(json).toMatchObject({
      code: "route-overlap",
      exitCode: 1,
      route: "alice",
      witness: { headers: { "x-user": "ab" } },
    });
  });

  test("of a group that is new says so, with those that may have been meant", async () => {
    const topic = freshTopic();
    await api().putGroup(topic, "billing", {});
    const ended = await here().ok(["split", "start", topic, "biling", "alice", "--all", "--detach"]);
    expect(ended.stderr).toContain(`group biling is new in ${topic}`);
    expect(ended.stderr).toContain("did you mean billing?");
  });
});

describe.concurrent("split start --run", () => {
  const PROGRAM =
    'echo "$FAIRLANE_TENANT|$FAIRLANE_TOPIC|$FAIRLANE_GROUP|$FAIRLANE_ROUTE|$FAIRLANE_URL|$FAIRLANE_TOKEN"';

  test("keeps the route while the program runs, and ends with its exit code", async () => {
    const topic = await withGroup();
    await api().publish(topic, messagesFor(["a1"]));
    const program = `${PROGRAM}; ${ticks("[ -e go-on ] && break")}; exit 7`;
    const running = place.start([...start(topic, ...START), "--run", program]);
    await running.shows(`demo|${topic}|g|alice|${live.url}|\n`);
    const { startedAt } = (await routesOf(live, topic).get("alice")).json;
    await until("more than its time", async () => {
      const { json } = await routesOf(live, topic).get("alice");
      expect(json.startedAt).toBe(startedAt);
      return json.expiresAt - startedAt > 2500;
    });
    await writeFile(join(place.folder, "go-on"), "");
    const ended = await running.ended;
    expect(ended.code).toBe(7);
    expect(ended.stdout).toBe(`demo|${topic}|g|alice|${live.url}|\n`);
    expect(ended.stderr).toContain("the program gets no token");
    expect(ended.stderr).toContain(
      "route alice ended: 0 messages went to it, 0 to the application; 1 went back\n",
    );
    expect((await routesOf(live, topic).get("alice")).status).toBe(404);
  });

  test("passes a signal on, and waits for the program to end by it", async () => {
    const topic = await withGroup();
    const program = `trap 'echo interrupted; exit 3' INT; echo begun; ${ticks(":")}`;
    const running = place.start([...start(topic, ...START), "--run", program, "--json"]);
    await running.shows("begun");
    running.child.kill("SIGINT");
    const ended = await running.ended;
    expect(ended.code).toBe(3);
    expect(ended.stderr).toContain("interrupted");
    expect(ended.lines<Line>().at(-1)).toMatchObject({ event: "ended" });
    expect((await routesOf(live, topic).get("alice")).status).toBe(404);
  });

  test("does not run it where the route cannot be started", async () => {
    const topic = await withGroup();
    await routesOf(live, topic).start("bob", { everything: true });
    const refused = await here().run([...start(topic, ...START), "--run", "touch has-run"]);
    expect(refused.code).toBe(1);
    expect(refused.stderr).toContain("route alice overlaps bob");
    expect(existsSync(join(place.folder, "has-run"))).toBe(false);
  });
});

describe("looking at routes", () => {
  test("detached: start, list, show, renew and stop", async () => {
    const topic = await withGroup();
    const started = await here().ok([...start(topic, "x-dev=alice"), "--detach"]);
    expect(started.stdout).toBe("route alice started: x-dev=alice\n");
    expect(started.stderr).toMatch(
      /it ends \S+ \(in 10 min\), unless its subscribers renew it, or: fairlane split renew/,
    );
    await api().publish(topic, messagesFor(["a1", "m1"]));
    await api().receiveCount(topic, "g", 1, { subscriber: "alice-1", route: "alice" });
    const list = await here().ok(["split", "list", topic, "g"]);
    expect(list.stdout).toMatch(
      /^alice\tx-dev=alice\t1\t1\t1\t1\t\d{4}-\S+\n\(application\)\tall others\t0\t1\t0\t0\t\n$/,
    );
    const json = (await here().ok(["split", "list", topic, "g", "--json"])).json();
    expect(json).toMatchObject({ routes: [{ route: "alice", delivered: 1 }], application: { backlog: 1 } });
    const show = (await here().ok(["split", "show", topic, "g", "alice"])).stdout;
    expect(show).toMatch(/^filter +x-dev=alice$/m);
    expect(show).toMatch(/^delivered +1 message$/m);
    const renewed = await here().ok(["split", "renew", topic, "g", "alice", "--ttl", "1h", "--json"]);
    expect(renewed.json()).toMatchObject({ route: "alice", ttlMs: 3_600_000, filter: dev("alice") });
    const stopped = await here().ok(["split", "stop", topic, "g", "alice"]);
    expect(stopped.stdout).toBe("route alice ended: 1 message went to it; 1 went back\n");
    const none = await here().ok(["split", "list", topic, "g"]);
    expect([none.stdout, none.stderr]).toEqual([
      "",
      "group g has no routes: all messages are the application's\n",
    ]);
  });

  test("of one that is not there says where to look", async () => {
    const topic = await withGroup();
    for (const line of ["show", "stop", "renew"]) {
      const { code, stderr } = await here().run(["split", line, topic, "g", "nobody"]);
      expect(code, line).toBe(3);
      expect(stderr).toContain(`see: fairlane split list ${topic} g`);
    }
    const consume = await here().run(["consume", topic, "--group", "g", "--route", "nobody"]);
    expect(consume.code).toBe(3);
    expect(consume.stderr).toContain("there is no route nobody");
  });

  test("explain, waiting and subscribers name it", async () => {
    const topic = await withGroup();
    await routesOf(live, topic).start("alice", dev("alice"));
    await api().publish(topic, messagesFor(["a1", "a2"]));
    const explain = ["explain", topic, "g", "--key", "k", "--id", "a1"];
    const alone = (await here().ok(explain)).stdout;
    expect(alone).toMatch(/^route +alice$/m);
    expect(alone).toContain("a subscriber of route alice: it has no live one");
    expect(alone).toContain(`fairlane consume ${topic} --group g --route alice -- <program>`);
    expect((await here().ok(["waiting", topic, "g"])).stdout).toMatch(/\talice\n$/);
    await api().receiveCount(topic, "g", 1, { subscriber: "alice-1", route: "alice" });
    expect((await here().ok(["subscribers", topic, "g"])).stdout).toMatch(/^alice-1\t.*\talice\n$/);
  });
});
