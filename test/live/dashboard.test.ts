import type { Page } from "playwright-core";
import { afterAll, describe, expect, test } from "vitest";
import type { Overview } from "../../src/client/fairlane.ts";
import { inBrowser, type Place, untilText } from "./browser.ts";
import { busyTopic } from "./dashboard-fixture.ts";
import { type Live, numbered, only, SECRET, setup, until } from "./harness.ts";
import { inSeconds, signToken, tenantToken } from "./tokens.ts";

/** What a tab's storage has, as one text. */
const STORED =
  "JSON.stringify({ session: { ...sessionStorage }, local: { ...localStorage }, cookie: document.cookie })";
/** How many pixels of each canvas have the colour of a series: blue or ochre, where axes and grid are grey. */
const DRAWN_PIXELS = `[...document.querySelectorAll("canvas")].map((canvas) => {
  const { width, height } = canvas;
  const copy = new OffscreenCanvas(width, height).getContext("2d", { willReadFrequently: true });
  copy.drawImage(canvas, 0, 0);
  const { data } = copy.getImageData(0, 0, width, height);
  let count = 0;
  for (let i = 0; i < data.length; i += 4) if (Math.abs(data[i] - data[i + 2]) > 60 && data[i + 3] > 20) count += 1;
  return count;
})`;

const storedOf = async (page: Page) =>
  JSON.parse(await page.evaluate<string>(STORED)) as {
    session: Record<string, string>;
    local: Record<string, string>;
    cookie: string;
  };
const topicRow = (page: Page, topic: string) =>
  page.getByRole("navigation", { name: "Topics" }).getByRole("row").filter({ hasText: topic });
const choose = (page: Page, name: string) => page.getByRole("button", { name, exact: true }).click();

inBrowser(["quiet", "empty", "busy", "figures", "many", "other"], (place) => {
  describe("the token", () => tokenCases(place));
  describe("what it shows", () => readingCases(place));
  describe("asking", () => pollingCases(place));
  describe("a server without tokens", () => openServerCases(place));
});

function tokenCases(place: Place) {
  test("comes with the link, leaves the address bar at once, and is this tab's alone", async () => {
    const page = await place.board("quiet");
    await untilText(page, "header", "quiet", "publish, consume, admin", "Live");
    expect(page.url()).toBe(`${place.live.url}/ui`);
    const stored = await storedOf(page);
    expect(stored).toMatchObject({ local: {}, cookie: "" });
    const { token } = JSON.parse(stored.session["fairlane.session"] ?? "{}") as { token: string };
    expect(token.split(".")).toHaveLength(3);
    await page.reload();
    await untilText(page, "header", "quiet", "Live");
    const other = await page.context().newPage();
    await other.goto(`${place.live.url}/ui`);
    await other.getByLabel("Token").waitFor();
    expect(await storedOf(other)).toEqual({ session: {}, local: {}, cookie: "" });
    await page.goBack();
    expect(page.url()).not.toContain(token);
  });

  test("a second link in the same tab takes its place", async () => {
    const page = await place.board("quiet");
    await untilText(page, "header", "quiet", "Live");
    await page.evaluate(`location.hash = ${JSON.stringify(`token=${tenantToken(SECRET, "other")}`)}`);
    await untilText(page, "header", "other", "Live");
    expect(page.url()).toBe(`${place.live.url}/ui`);
    expect(JSON.stringify(await storedOf(page))).not.toContain("quiet");
  });

  test("is pasted into the form, which asks for the tenant only where the token is for all", async () => {
    const page = await place.blank();
    await page.goto(`${place.live.url}/ui/`);
    await page.getByRole("button", { name: "Open" }).click();
    await untilText(page, "[role=alert]", "name the tenant");
    await page.getByLabel("Token").fill("not a token");
    await page.getByRole("button", { name: "Open" }).click();
    await untilText(page, "[role=alert]", "not an access token");
    await page.getByLabel("Token").fill(tenantToken(SECRET, "quiet"));
    expect(await page.getByLabel("Tenant").isDisabled()).toBe(true);
    expect(await page.getByLabel("Tenant").inputValue()).toBe("quiet");
    await page.getByLabel("Token").fill(tenantToken(SECRET, "*"));
    await page.getByRole("button", { name: "Open" }).click();
    await untilText(page, "[role=alert]", "for every tenant");
    await page.getByLabel("Tenant").fill("Quiet!");
    await page.getByRole("button", { name: "Open" }).click();
    await untilText(page, "[role=alert]", "no tenant's name");
    await page.getByLabel("Tenant").fill("other");
    await page.getByLabel("Tenant").press("Enter");
    await untilText(page, "header", "other", "Live");
  });

  test("that the server refuses leads back to the form, with the reason and the request", async () => {
    const page = await place.blank({ expected: /status of (401|404)/ });
    const forged = tenantToken("another-secret-0123456789abcdef0123456789", "quiet");
    await page.goto(`${place.live.url}/ui#token=${forged}`);
    await untilText(page, "[role=alert]", "does not take this token", /request [\w-]{8,}/);
    expect(JSON.stringify(await storedOf(page))).not.toContain(forged);
    expect(await page.getByLabel("Token").inputValue()).toBe("");
    const expired = signToken(SECRET, { tenant: "quiet", scope: "consume", exp: inSeconds(-125) });
    await page.evaluate(`location.hash = "token=${expired}"`);
    await untilText(page, "[role=alert]", /expired 2 min \d+ s ago/);
    await page.evaluate(`location.hash = "token=${tenantToken(SECRET, "*")}&tenant=nobody"`);
    await untilText(page, "[role=alert]", "this tenant is not configured");
    await page.getByLabel("Tenant").fill("quiet");
    await page.getByRole("button", { name: "Open" }).click();
    await untilText(page, "header", "quiet", "Live");
    await page.getByRole("button", { name: "Forget token" }).click();
    await page.getByLabel("Token").waitFor();
    expect((await storedOf(page)).session).toEqual({});
  });

  test("with the scope consume shows all but what an admin may, and says which scope that takes", async () => {
    const page = await place.board("quiet", { scope: "consume" });
    await place.live.api("quiet").publish("seen", numbered(2, "k"));
    await place.live.api("quiet").putGroup("seen", "g");
    await untilText(
      page,
      "main",
      "Pause and resume need a token with the scope admin",
      "0 dead letters",
      "scope admin",
    );
    expect(await page.getByRole("button", { name: /Pause|Redrive|Refresh/ }).count()).toBe(0);
  });

  test("that may only publish shows why there is nothing, with the request, and asks again on demand alone", async () => {
    const page = await place.board("quiet", { scope: "publish", expected: /status of 403/ });
    await untilText(
      page,
      ".messages",
      "lacks the scope consume or admin",
      "403 forbidden",
      /request [\w-]{8,}/,
    );
    expect(await page.locator(".messages").textContent()).not.toContain("tried again");
    const asked = page.waitForRequest(/\/overview/);
    await page.getByRole("button", { name: "Try now" }).click();
    await asked;
  });
}

function readingCases(place: Place) {
  test("without a topic it says how to make one", async () => {
    const page = await place.board("empty");
    await untilText(page, "nav", "No topic yet", "npx fairlane publish orders", "--tenant empty");
  });

  test("topics, groups and their figures are those of the API, and drawn", async () => {
    const api = place.live.api("figures");
    await api.publish("orders", [...numbered(7, "a"), ...numbered(5, "b", "n")]);
    await api.putGroup("orders", "billing");
    await api.putGroup("orders", "idle", { paused: true });
    await api.ack("orders", "billing", await api.receiveCount("orders", "billing", 3));
    await api.receiveCount("orders", "billing", 2);
    await api.putTopic("zero", {});
    const page = await place.board("figures");
    await untilText(page, "main", "billing", "idle");
    const topic = await api.getTopic("orders");
    const billing = only(topic.groups.filter(({ group }) => group === "billing"));
    expect(billing).toMatchObject({ backlog: 9, inFlight: 2, subscribers: 1 });
    const cellsOf = async (name: string) =>
      page
        .locator("table.cards")
        .first()
        .getByRole("row")
        .filter({ hasText: name })
        .getByRole("cell")
        .allInnerTexts();
    await until("the figures", async () => {
      const [backlog, , oldest, inFlight, subscribers, expired, dropped] = await cellsOf("billing");
      return (
        [backlog, inFlight, subscribers, expired, dropped].join() === "9,2,1,0,0" &&
        /^\d+ s$/.test(oldest ?? "")
      );
    });
    expect((await cellsOf("idle")).slice(0, 1)).toEqual(["12"]);
    await untilText(page, "main", "paused", `stored ${topic.messages}`.replace(" ", "\n"));
    expect(await topicRow(page, "orders").getByRole("cell").allInnerTexts()).toEqual([
      "21",
      expect.stringMatching(/^\d+ s$/),
      "0",
    ]);
    expect(await topicRow(page, "zero").getByRole("cell").allInnerTexts()).toEqual(["0", "–", "0"]);
    const drawn = await until("plots", async () => {
      const pixels = await page.evaluate<number[]>(DRAWN_PIXELS);
      return pixels.length === 4 && pixels.every((count) => count > 100) && pixels;
    });
    expect(drawn).toHaveLength(4);
    const label = page.getByRole("img", { name: /^Backlog of billing: 9, at most 9 in the last/ });
    await label.first().waitFor();
    await untilText(page, "main", "at most the last 15 minutes");
  });

  test("many topics come in pages, and one is found by its name", async () => {
    const api = place.live.api("many");
    const names = Array.from({ length: 45 }, (_, i) => `topic-${String(i).padStart(2, "0")}`);
    for (const name of names) await api.putTopic(name, {});
    const page = await place.board("many");
    const shows = async (...wanted: string[]) => {
      await until(`the topics from ${wanted[0]}`, async () => {
        const rows = await page.getByRole("navigation").getByRole("rowheader").allInnerTexts();
        return rows.map((text) => text.trim()).join() === wanted.join();
      });
      await untilText(page, "#topic-title", wanted[0] ?? "");
    };
    await shows(...names.slice(0, 20));
    await untilText(page, "nav", "20 of 45 topics, by name");
    await choose(page, "More topics");
    await shows(...names.slice(20, 40));
    await choose(page, "More topics");
    await shows(...names.slice(40));
    await untilText(page, "nav", "5 of 45 topics, by name");
    await page.reload();
    await shows(...names.slice(40));
    await choose(page, "Previous topics");
    await shows(...names.slice(20, 40));
    await page.getByLabel("From").fill("topic-33");
    await page.getByLabel("From").press("Enter");
    await shows(...names.slice(33));
    await page.getByLabel("From").fill("NO");
    expect(await page.getByRole("button", { name: "Go" }).isDisabled()).toBe(true);
  });

  test("of the topics on a page, that of which a message waits longest is marked, where that is long", async () => {
    const api = place.live.api("other");
    for (const topic of ["stuck-a-long-while", "fresh"]) {
      await api.putGroup(topic, "g");
      await api.publish(topic, numbered(1, "k"));
    }
    const page = await place.blank({ width: 400 });
    let waitsMs = 0;
    // A test does not wait for minutes: on its way to the page the time is set back.
    await page.route("**/overview*", async (route) => {
      const reply = await route.fetch();
      const { topics, next } = (await reply.json()) as Overview;
      for (const { topic, groups } of topics) {
        if (topic !== "stuck-a-long-while") continue;
        for (const group of groups) if (group.oldestUnsettledAt !== null) group.oldestUnsettledAt -= waitsMs;
      }
      await route.fulfill({ response: reply, json: { topics, next } });
    });
    await page.goto(`${place.live.url}/ui#token=${tenantToken(SECRET, "other")}`);
    await untilText(page, "nav", "stuck-a-long-while", "fresh");
    expect(await page.locator("nav .badge").count()).toBe(0);
    waitsMs = 300_000;
    await topicRow(page, "stuck-a-long-while").getByText("oldest").waitFor();
    await page.setViewportSize({ width: 1280, height: 900 });
    expect(await page.locator("nav .badge").count()).toBe(1);
  });

  test("the history lasts over a reload, and is the tab's", async () => {
    const page = await place.board("figures");
    await page
      .getByRole("img", { name: /^Backlog of billing: 9, at most 9 in the last [2-9] s/ })
      .first()
      .waitFor();
    await page.reload();
    await page
      .getByRole("img", { name: /^Backlog of billing: 9, at most 9 in the last ([3-9]|\d\d) s/ })
      .first()
      .waitFor();
    expect((await storedOf(page)).session["fairlane.history"]).toContain("orders billing");
  });

  test("subscribers with their lanes and shares, lanes that wait, and why", async () => {
    const api = place.live.api("busy");
    await busyTopic(api);
    const page = await place.board("busy");
    await choose(page, "orders");
    const { json } = await api.request<{ share: number; busyLanes: number; subscribers: unknown[] }>(
      "GET",
      "topics/orders/groups/billing/subscribers",
    );
    await untilText(page, "main", `each subscriber's share is ${json.share}`, `${json.busyLanes} busy lanes`);
    const row = page.getByRole("row").filter({ hasText: "billing-7f9c" });
    expect((await row.getByRole("cell").allInnerTexts()).slice(1, 4)).toEqual([
      `1 of ${json.share}`,
      "2",
      "1",
    ]);
    const lane = page.getByRole("row").filter({ hasText: "postponed" });
    await untilText(page, "main", "backing off", "timeout calling the payment provider");
    expect(only(await lane.allInnerTexts())).toMatch(/in \d+ (min|s)/);
    await lane.getByRole("button", { name: /^Explain the first message of / }).click();
    await untilText(page, ".answer", "postponed", "next change", /its own state ends\s+in 9 min|in 10 min/);
  });

  test("one message, asked for by key and ID or by offset, and what the answer counts down to", async () => {
    const api = place.live.api("busy");
    const page = await place.board("busy");
    await choose(page, "orders");
    await page.getByRole("button", { name: "Explain", exact: true }).last().click();
    await untilText(page, ".question", "Give the partition key and the message ID");
    const ask = async (partitionKey: string, id: string) => {
      await page.getByLabel("Partition key").fill(partitionKey);
      await page.getByLabel(/^(Message ID|Offset)$/).fill(id);
      await page.getByLabel(/^(Message ID|Offset)$/).press("Enter");
    };
    const [failed] = (await api.listMessages("orders")).filter(({ id }) => id === "order-9/created");
    await ask("order-9", "order-9/created");
    await untilText(page, ".answer", "backing off", "1 of 3", "timeout calling the payment provider");
    const first = await untilText(page, ".answer", /its own state ends\s+in 9 min \d+ s/);
    await until("the countdown", async () => only(await page.locator(".answer").allInnerTexts()) !== first);
    await ask("order-9", "no such");
    await untilText(page, ".answer", "not found");
    await page.getByLabel("By", { exact: true }).selectOption("offset");
    await ask("order-9", "twelve");
    await untilText(page, ".question", "An offset is a whole number");
    await ask("order-9", String(failed?.offset));
    await untilText(page, ".answer", "order-9/created", "backing off");
    await page.getByRole("button", { name: "Close" }).click();
    expect(await page.locator(".answer").count()).toBe(0);
  });
}

function pollingCases(place: Place) {
  test("goes on every two seconds, one request of a kind at a time, and stops while nobody looks", async () => {
    const page = await place.blank();
    let underWay = 0;
    let most = 0;
    let overviews = 0;
    page.on("request", (request) => {
      if (!request.url().includes("/overview")) return;
      overviews += 1;
      underWay += 1;
      most = Math.max(most, underWay);
    });
    page.on("requestfinished", (request) => {
      if (request.url().includes("/overview")) underWay -= 1;
    });
    await page.addInitScript(
      `Object.defineProperty(document, "visibilityState", { get: () => globalThis.shown ?? "visible" })`,
    );
    await page.clock.install();
    await page.goto(`${place.live.url}/ui#token=${tenantToken(SECRET, "quiet")}`);
    await untilText(page, "header", "Live");
    for (const wanted of [2, 3, 4]) {
      await page.clock.runFor(2000);
      await until(`${wanted} requests answered`, async () => overviews >= wanted && underWay === 0);
    }
    const turn = (to: string) =>
      page.evaluate(`shown = "${to}"; document.dispatchEvent(new Event("visibilitychange"))`);
    await turn("hidden");
    await untilText(page, "header", "Paused");
    const before = overviews;
    await page.clock.runFor(60_000);
    await page.evaluate("fetch('/healthz').then((reply) => reply.text())");
    expect(overviews).toBe(before);
    await turn("visible");
    await until("the next request", async () => overviews === before + 1);
    await untilText(page, "header", "Live");
    expect(most).toBe(1);
  });

  test("backs off while the server is away, says so, and is back by itself or at once on demand", async () => {
    const page = await place.board("quiet", { expected: /ERR_INTERNET_DISCONNECTED/ });
    await untilText(page, "header", "Live");
    await page.context().setOffline(true);
    await untilText(page, ".messages", "Reading the topics", /tried again in \d+ s/);
    await untilText(page, "header", "Not up to date");
    await page.context().setOffline(false);
    await page.locator(".messages").getByRole("button", { name: "Try now" }).click();
    await untilText(page, "header", "Live");
    expect(await page.locator(".messages .problem").count()).toBe(0);
  });
}

function openServerCases(place: Place) {
  let open: Live;
  afterAll(() => open?.close());

  test("asks for the tenant alone, and everything works", async () => {
    open = await setup({ authOff: true, tenants: ["demo"] });
    await open.api("demo", null).publish("orders", numbered(1, "k"));
    const page = await place.blank({ url: open.url });
    await page.goto(`${open.url}/ui`);
    await page.getByLabel("Tenant").fill("demo");
    await page.getByLabel("Tenant").press("Enter");
    await untilText(page, "header", "demo", "no token", "Live");
    await untilText(page, "main", "No group reads this topic yet", "fairlane consume orders --group billing");
    await page.getByRole("button", { name: "Refresh" }).waitFor();
    await page.goto(`${open.url}/ui#tenant=demo`);
    await untilText(page, "nav", "orders");
  });
}
