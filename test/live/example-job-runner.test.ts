import { afterAll, beforeAll, expect, test } from "vitest";
import { buildPackage, ExampleProgram } from "./example-programs.ts";
import { ExampleWorld, startWire } from "./example-world.ts";
import { type Live, only, setup, until } from "./harness.ts";

const POLL_MS = 200;
/** How often each render is asked for before it is done, fails for good, or is served at all. */
const renders = new Map<string, number>();

let live: Live;
let world: ExampleWorld;
/** Between the runner and the queue, to see what it settles and when. */
let wire: ExampleWorld;
const settlements: { action: string; visibilityTimeoutMs?: number }[] = [];
let runner: ExampleProgram;

beforeAll(async () => {
  buildPackage();
  live = await setup();
  world = await ExampleWorld.start(({ method, path, json }) => {
    expect(method).toBe("PUT");
    const id = path.split("/").at(-1) as string;
    const asked = (renders.get(id) ?? 0) + 1;
    renders.set(id, asked);
    const { scene } = json as { scene: string };
    if (scene === "broken") return { json: { state: "failed", reason: "no such mesh" } };
    if (scene === "unlucky" && asked < 3) return { status: 502, json: {} };
    if (scene === "cursed") return { status: 502, json: {} };
    return { json: { state: scene === "slow" && asked < 6 ? "running" : "done" } };
  });
  const api = live.api("demo");
  // The default backoff would have the test wait for seconds.
  await api.putGroup("jobs", "runners", { retry: { initialBackoffMs: 50 } });
  wire = await startWire(live, ({ path, json }) => {
    if (path.endsWith("/settle"))
      settlements.push(...(json as { settlements: typeof settlements }).settlements);
  });
  const env = {
    FAIRLANE_URL: wire.url,
    FAIRLANE_TOKEN: live.token,
    RENDER_URL: world.url,
    POLL_MS: `${POLL_MS}`,
  };
  runner = new ExampleProgram("job-runner/runner.ts", env);
});
afterAll(async () => {
  await runner?.stop();
  await wire?.close();
  await world?.close();
  await live?.close();
});

async function submit(id: string, body: unknown): Promise<void> {
  await live.api("demo").publish("jobs", [{ id, partitionKey: id, body }]);
}

async function deadLetterOf(id: string) {
  const find = async () => (await live.api("demo").deadLetters("jobs")).filter((each) => each.id === id);
  return only(
    await until(`the dead letter of ${id}`, async () => ((await find()).length > 0 ? find() : null)),
  );
}

async function backlog(): Promise<number> {
  return only((await live.api("demo").getTopic("jobs")).groups).backlog;
}

test("a job that runs elsewhere is asked about until it is done, and spends no attempts meanwhile", async () => {
  await submit("render-slow", { kind: "render", scene: "slow" });
  await runner.printed("render-slow: rendered slow");
  // More often than the group has attempts.
  expect(renders.get("render-slow")).toBe(6);
});

test("a job that fails for now is tried again", async () => {
  await submit("render-unlucky", { kind: "render", scene: "unlucky" });
  await runner.printed("render-unlucky: rendered unlucky");
  expect(renders.get("render-unlucky")).toBe(3);
});

test("a job that fails at every attempt is a dead letter with the last reason", async () => {
  await submit("render-cursed", { kind: "render", scene: "cursed" });
  expect(await deadLetterOf("render-cursed")).toMatchObject({
    attempts: 3,
    reason: "the render service answers 502",
  });
});

test("a job that failed for good is a dead letter at once", async () => {
  await submit("render-broken", { kind: "render", scene: "broken" });
  expect(await deadLetterOf("render-broken")).toMatchObject({
    attempts: 1,
    reason: "render failed: no such mesh",
  });
});

test.each([
  ["no-object", 7, "not a job"],
  ["other-kind", { kind: "dance" }, 'no such kind of job: "dance"'],
  ["no-scene", { kind: "render" }, "render: scene must be a text"],
  [
    "too-many",
    { kind: "count-primes", below: 1e12 },
    "count-primes: below must be a whole number up to 20000000",
  ],
])("bad input (%s) is a dead letter that says what is wrong", async (id, body, reason) => {
  await submit(id, body);
  expect(await deadLetterOf(id)).toMatchObject({ attempts: 1, reason });
});

test("a computation asks for its time before, and is acknowledged", async () => {
  await submit("primes", { kind: "count-primes", below: 1_000_000 });
  await runner.printed("primes: 78498 primes below 1000000");
  await until("all is settled", async () => (await backlog()) === 0);
  const asked = settlements.findIndex(({ visibilityTimeoutMs }) => visibilityTimeoutMs === 600_000);
  expect(settlements[asked]?.action).toBe("extend");
  expect(settlements.slice(asked + 1).some(({ action }) => action === "ack")).toBe(true);
});
