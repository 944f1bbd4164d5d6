import type { Page } from "playwright-core";
import { expect, test } from "vitest";
import { inBrowser, untilText } from "./browser.ts";
import { deadLetter } from "./dashboard-fixture.ts";
import { until } from "./harness.ts";
import type { WireGroupSettings } from "./wire.ts";

const EXACT =
  '{"total": 42.0, "big": 9007199254740993, "a": 1, "a": 2, "html": "<img src=x onerror=alert(1)>"}';

const dialogOf = (page: Page) => page.getByRole("dialog");
const press = (page: Page, name: string | RegExp) => page.getByRole("button", { name }).click();

inBrowser(["letters", "pages", "pausing", "keys"], (place) => {
  test("dead letters: reason, attempts and body as it was published, and redrive of one, of several, of all", async () => {
    const api = place.live.api("letters");
    const post = (json: string) => api.request("POST", "topics/orders/messages", { text: json });
    await api.putTopic("orders", {});
    expect(
      (await post(`{"messages": [{"id": "exact", "partitionKey": "k", "body": ${EXACT}}]}`)).status,
    ).toBe(200);
    const bytes = Buffer.from([0, 1, 2, 0xff, 0x41]);
    const letters = [
      { id: "bytes", partitionKey: "k", bodyBase64: bytes.toString("base64") },
      { id: "long", partitionKey: "k", body: "é".repeat(3000) },
      { id: "other-1", partitionKey: "k", body: 1 },
      { id: "other-2", partitionKey: "k", body: 2 },
      { id: "other-3", partitionKey: "k", body: 3 },
    ];
    await api.publish("orders", letters);
    await deadLetter(api, "orders", "billing", 6, "no use <b>to</b> billing");
    await deadLetter(api, "orders", "warehouse", 6);
    const page = await place.board("letters");
    await untilText(
      page,
      "main",
      "Dead letters",
      "exact",
      "no use <b>to</b> billing",
      "schema 4 is not supported",
    );
    const count = async () => (await api.deadLetters("orders")).length;
    expect(await count()).toBe(12);

    await page.getByRole("button", { name: "Body of exact" }).first().click();
    await untilText(page, "pre.body", EXACT);
    await untilText(page, ".preview-row", `${EXACT.length} bytes, application/json`);
    await page.getByRole("button", { name: "Body of bytes" }).first().click();
    await untilText(page, "pre.body", /^0000 {2}00 01 02 ff 41 +\.\.\.\.A$/);
    await page.getByRole("button", { name: "Body of long" }).first().click();
    await untilText(page, ".preview-row", "6,002 bytes", "the first 2,048 bytes");
    expect((await page.locator("pre.body").allInnerTexts()).join()).toBe(`"${"é".repeat(1023)}`);
    await page.getByRole("button", { name: "Body of long" }).first().click();
    expect(await page.locator("pre.body").count()).toBe(0);

    await page.getByRole("button", { name: "Redrive exact" }).first().click();
    await dialogOf(page).getByText("for billing alone").waitFor();
    await dialogOf(page).getByRole("button", { name: "Cancel" }).click();
    expect(await count()).toBe(12);
    await page.getByRole("button", { name: "Redrive exact" }).first().click();
    await dialogOf(page).getByRole("button", { name: "Redrive" }).click();
    await untilText(page, "output", "1 dead letter of orders redriven");
    expect((await api.deadLetters("orders")).filter(({ id }) => id === "exact")).toMatchObject([
      { group: "warehouse" },
    ]);
    await until(
      "the row to go",
      async () => (await page.getByRole("button", { name: "Redrive exact" }).count()) === 1,
    );

    for (const id of ["other-1", "other-2"]) await page.getByLabel(`Tick ${id}`).first().check();
    await page.getByLabel("Tick other-1").last().check();
    await press(page, "Redrive ticked (3)");
    await dialogOf(page).getByText("for billing, warehouse alone").waitFor();
    await dialogOf(page).getByRole("button", { name: "Redrive" }).click();
    await untilText(page, "output", "3 dead letters of orders redriven");
    expect(await count()).toBe(8);

    await page.getByLabel("Group whose dead letters").selectOption("warehouse");
    await press(page, "Redrive all of the group");
    await dialogOf(page).getByRole("button", { name: "Redrive all" }).click();
    await untilText(page, "output", "5 dead letters of orders redriven");
    expect((await api.deadLetters("orders")).map(({ group }) => group)).toEqual([
      "billing",
      "billing",
      "billing",
    ]);
    await page.getByLabel("All on this page").check();
    await press(page, "Redrive ticked (3)");
    await dialogOf(page).getByRole("button", { name: "Redrive" }).click();
    await untilText(page, "main", "None. A message that is out of attempts");
  });

  test("dead letters come in pages, and new ones by themselves", async () => {
    const api = place.live.api("pages");
    const messages = Array.from({ length: 60 }, (_, i) => ({ id: `m${i}`, partitionKey: "k", body: i }));
    await api.publish("orders", messages);
    await deadLetter(api, "orders", "billing", 60);
    const page = await place.board("pages");
    await untilText(page, "main", "m0", "m49");
    const rows = () => page.getByRole("button", { name: /^Redrive m\d/ }).count();
    expect(await rows()).toBe(50);
    await press(page, "More dead letters");
    await until("the second page", async () => (await rows()) === 10);
    await api.publish("orders", [{ id: "m60", partitionKey: "k", body: 0 }]);
    await deadLetter(api, "orders", "billing", 1);
    await until("the new one", async () => (await rows()) === 11);
    await press(page, "Previous dead letters");
    await until("the first page", async () => (await rows()) === 50);
  });

  test("pausing and resuming a group asks first, and what fails says why", async () => {
    const api = place.live.api("pausing");
    await api.publish("orders", [{ partitionKey: "k", body: 1 }]);
    await api.putGroup("orders", "billing");
    const isPaused = async () =>
      (await api.request<WireGroupSettings>("GET", "topics/orders/groups/billing")).json.paused;
    const page = await place.board("pausing", { expected: /status of 403/ });
    await press(page, "Pause");
    await dialogOf(page).getByText("until it is resumed").waitFor();
    await page.keyboard.press("Escape");
    await dialogOf(page).waitFor({ state: "hidden" });
    expect(await isPaused()).toBe(false);
    await press(page, "Pause");
    await dialogOf(page).getByRole("button", { name: "Pause" }).click();
    await untilText(page, "output", "billing of orders is paused");
    expect(await isPaused()).toBe(true);
    await untilText(page, "table.cards", "paused");
    await press(page, "Resume");
    await dialogOf(page).getByRole("button", { name: "Resume" }).click();
    await untilText(page, "output", "billing of orders is resumed");
    expect(await isPaused()).toBe(false);

    // What a proxy in front of the server may refuse.
    await page.route("**/groups/billing", (route) =>
      route.fulfill({
        status: 403,
        headers: { "x-request-id": "request-7" },
        contentType: "application/problem+json",
        body: JSON.stringify({
          type: "urn:fairlane:forbidden",
          title: "x",
          status: 403,
          detail: "not on a Friday",
        }),
      }),
    );
    await press(page, "Pause");
    await dialogOf(page).getByRole("button", { name: "Pause" }).click();
    await untilText(page, ".messages", "Pause billing", "not on a Friday", "403 forbidden", "request-7");
    await press(page, "Dismiss");
    expect(await page.locator(".messages .problem").count()).toBe(0);
  });

  test("by the keyboard alone: token, topic, group, pause", async () => {
    const api = place.live.api("keys");
    for (const topic of ["first", "second"]) {
      await api.publish(topic, [{ partitionKey: "k", body: 1 }]);
      for (const group of ["alpha", "beta"]) await api.putGroup(topic, group);
    }
    const page = await place.blank();
    await page.goto(`${place.live.url}/ui`);
    await page.getByLabel("Token").waitFor();
    await page.keyboard.type(place.live.token);
    await page.keyboard.press("Tab");
    await page.keyboard.type("keys");
    await page.keyboard.press("Enter");
    await untilText(page, "nav", "second");
    /** Goes on with Tab until the button is reached, and sees that it is seen to be. */
    const reach = async (name: string) => {
      for (let step = 0; step < 60; step++) {
        await page.keyboard.press("Tab");
        const [label, outline] = await page.evaluate<[string, string]>(
          "[document.activeElement.innerText.trim(), getComputedStyle(document.activeElement).outlineStyle]",
        );
        if (label !== name) continue;
        expect(outline, `the focus on ${name}`).toBe("solid");
        return;
      }
      expect.fail(`Tab does not lead to ${name}`);
    };
    await reach("second");
    await page.keyboard.press("Enter");
    await untilText(page, "#topic-title", "second");
    await reach("beta");
    await page.keyboard.press("Space");
    await untilText(page, "#group-title", "beta");
    await reach("Pause");
    await page.keyboard.press("Enter");
    await dialogOf(page).waitFor();
    await reach("Pause");
    await page.keyboard.press("Enter");
    await untilText(page, "output", "beta of second is paused");
    const { json } = await api.request<WireGroupSettings>("GET", "topics/second/groups/beta");
    expect(json.paused).toBe(true);
  });
});
