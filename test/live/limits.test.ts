import { afterAll, beforeAll, expect, test } from "vitest";
import { freshTopic, type Live, numbered, setup } from "./harness.ts";
import { expectProblem } from "./problem.ts";

let live: Live;
beforeAll(async () => {
  live = await setup();
});
afterAll(() => live?.close());

/** Runs `count` calls, some at a time. */
async function many(count: number, call: (i: number) => Promise<unknown>): Promise<void> {
  let next = 0;
  const worker = async () => {
    while (next < count) await call(next++);
  };
  await Promise.all(Array.from({ length: 8 }, worker));
}

test("1,000 topics a tenant: one more is refused, by every call that would make it", async () => {
  const api = live.api("demo");
  await many(1000, (i) => api.putTopic(`t${i}`, {}));
  const calls: [string, string, unknown][] = [
    ["PUT", "topics/more", {}],
    ["POST", "topics/more/messages", { messages: numbered(1, "k") }],
    ["POST", "topics/more/raw", {}],
    ["POST", "topics/more/groups/g/receive", { subscriber: "s" }],
    ["PUT", "topics/more/groups/g", {}],
  ];
  for (const [method, path, json] of calls) {
    expectProblem(await api.request(method, path, { json }), "rate-limited");
  }
  await api.publish("t0", numbered(1, "k"));
  const { topics } = (await api.request<{ topics: string[] }>("GET", "topics")).json;
  expect(topics).toHaveLength(1000);
  expect(topics).not.toContain("more");
  await live.api("acme").putTopic("more", {});
});

test("1,000 subscribers a group: one more is refused, those that are there go on", async () => {
  const api = live.api("globex");
  const topic = freshTopic();
  await api.putGroup(topic, "g", { leaseDurationMs: 120_000 });
  const beat = (subscriber: string) =>
    api.request("POST", `topics/${topic}/groups/g/subscribers/${subscriber}/heartbeat`);
  await many(1000, async (i) => expect((await beat(`s${i}`)).status).toBe(200));
  expectProblem(await beat("more"), "rate-limited");
  const receive = { json: { subscriber: "more" } };
  expectProblem(await api.request("POST", `topics/${topic}/groups/g/receive`, receive), "rate-limited");
  expect((await beat("s0")).status).toBe(200);
  expect(await api.getTopic(topic)).toMatchObject({ groups: [{ subscribers: 1000 }] });
  expect((await api.request("DELETE", `topics/${topic}/groups/g/subscribers/s1`)).status).toBe(204);
  expect((await beat("more")).status).toBe(200);
});
