import type { Page } from "playwright-core";
import { beforeAll, expect, test } from "vitest";
import type { Api } from "./api.ts";
import { IS_SHOOTING, inBrowser, shoot, untilText } from "./browser.ts";
import { busyTopic, deadLetter } from "./dashboard-fixture.ts";
import { numbered, SECRET } from "./harness.ts";
import { tenantToken } from "./tokens.ts";

/** Elements that stick out of their panel, card or row to the right; and whether the page scrolls that way. */
const STICKING_OUT = `(() => {
  const width = document.documentElement.clientWidth;
  const scrolls = document.documentElement.scrollWidth > width ? ["the page scrolls"] : [];
  const isClipped = (element) => {
    for (let at = element; at !== null; at = at.parentElement)
      if (getComputedStyle(at).overflowX !== "visible" || getComputedStyle(at).clipPath !== "none") return true;
    return false;
  };
  const out = [...document.body.querySelectorAll("*")]
    .filter((element) => {
      const box = element.closest("tr, .panel, header")?.getBoundingClientRect().right ?? width;
      return element.getBoundingClientRect().right > Math.min(width, box) + 1 && !isClipped(element);
    })
    .map((element) => element.tagName + " " + element.className + " " + element.textContent.slice(0, 40));
  return [...scrolls, ...out];
})()`;

/** Texts whose contrast to what is behind them is below 4.5 (WCAG 2.2, 1.4.3); what is disabled does not count. */
const FAINT_TEXTS = `(() => {
  const pixel = new OffscreenCanvas(1, 1).getContext("2d", { willReadFrequently: true });
  const rgba = (colour) => {
    pixel.clearRect(0, 0, 1, 1);
    pixel.fillStyle = colour;
    pixel.fillRect(0, 0, 1, 1);
    return [...pixel.getImageData(0, 0, 1, 1).data];
  };
  const luminance = (colour) => {
    const [r, g, b] = colour.map((value) => {
      const part = value / 255;
      return part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4;
    });
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const behind = (element) => {
    for (let at = element; at !== null; at = at.parentElement) {
      const colour = rgba(getComputedStyle(at).backgroundColor);
      if (colour[3] === 255) return colour;
    }
    return rgba(getComputedStyle(document.documentElement).backgroundColor);
  };
  const faint = new Set();
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (walker.nextNode()) {
    const element = walker.currentNode.parentElement;
    if (walker.currentNode.textContent.trim() === "" || element.closest(":disabled, noscript") !== null) continue;
    if (element.getClientRects().length === 0) continue;
    const [a, b] = [luminance(rgba(getComputedStyle(element).color)), luminance(behind(element))].sort((x, y) => y - x);
    const ratio = (a + 0.05) / (b + 0.05);
    if (ratio < 4.5) faint.add(walker.currentNode.textContent.slice(0, 40) + " " + ratio.toFixed(2));
  }
  return [...faint];
})()`;

const VIEWS = [
  { width: 1280, scheme: "light" },
  { width: 1280, scheme: "dark" },
  { width: 400, scheme: "light" },
  { width: 400, scheme: "dark" },
] as const;

inBrowser(["busy", "hostile", "nothing"], (place) => {
  beforeAll(async () => {
    await busyTopic(place.live.api("busy"));
    await hostileTopic(place.live.api("hostile"));
  });

  test.each(VIEWS)("at $width pixels, $scheme", async ({ width, scheme }) => {
    const page = await place.blank({ width, scheme });
    const tidy = async (what: string) => {
      for (const between of width === 1280 ? [701, 861, 1024, 1190] : []) {
        await page.setViewportSize({ width: between, height: 900 });
        expect(await page.evaluate(STICKING_OUT), `${what} at ${between}`).toEqual([]);
      }
      await page.setViewportSize({ width, height: 900 });
      expect(await page.evaluate(STICKING_OUT), what).toEqual([]);
      expect(await page.evaluate(FAINT_TEXTS), what).toEqual([]);
      await shoot(page, `${what}-${scheme}-${width}`);
    };
    const show = (tenant: string) =>
      page.evaluate(`location.hash = "token=${tenantToken(SECRET, tenant)}&tenant=${tenant}"`);
    await page.goto(`${place.live.url}/ui`);
    const background = await page.evaluate("getComputedStyle(document.documentElement).backgroundColor");
    expect(background).toBe(scheme === "light" ? "rgb(245, 246, 248)" : "rgb(15, 18, 22)");
    await page.getByRole("button", { name: "Open" }).click();
    await untilText(page, "[role=alert]", "name the tenant");
    await tidy("form");
    await show("nothing");
    await untilText(page, "nav", "No topic yet");
    await tidy("empty");
    await show("busy");
    await untilText(page, "main", "billing-7f9c", "order-3", "schema 4 is not supported");
    if (IS_SHOOTING) await makeHistory(page, place.live.api("busy"));
    await page.getByRole("row").filter({ hasText: "backing off" }).getByRole("button").click();
    await page.getByRole("button", { name: "Body of order-9/created" }).click();
    await untilText(page, "main", "no such article", "its own state ends");
    await tidy("busy");
    await page.getByRole("button", { name: "Pause" }).click();
    await page.getByRole("dialog").waitFor();
    await tidy("dialog");
    await page.keyboard.press("Escape");
    await show("hostile");
    await untilText(
      page,
      "main",
      "<img src=x onerror=alert(1)>",
      "⟨202E⟩gnp.exe",
      "⟨001B⟩[31mred⟨000A⟩⟨000D⟩⟨0009⟩x",
    );
    await page.getByRole("button", { name: "Body of ⟨202E⟩gnp.exe" }).click();
    await untilText(page, "pre.body", '"<script>alert(1)</script> ⟨202E⟩gnp.exe"');
    await page
      .getByRole("button", { name: /^Explain the first message of / })
      .first()
      .click();
    await untilText(page, ".answer", "as of");
    expect(await page.locator("main img, main script, main b, main iframe").count()).toBe(0);
    await tidy("hostile");
  });
});

/** For a picture with more than one point in its plots: waits until the page has seen some changes. */
async function makeHistory(page: Page, api: Api): Promise<void> {
  for (const count of [9, 4, 12, 3, 7]) {
    await api.publish("orders", numbered(count, "order-8", `${crypto.randomUUID()}/`));
    const [billing] = (await api.getTopic("orders")).groups;
    await page
      .getByRole("img", { name: `Backlog of billing: ${billing?.backlog}` })
      .first()
      .waitFor();
  }
}

/** Names as long as they may be, and texts that would be markup, turn the line around or move the cursor. */
async function hostileTopic(api: Api): Promise<void> {
  const topic = `t${"-very-long".repeat(12)}`;
  const group = `g${"_long".repeat(25)}`;
  const keys = ["<img src=x onerror=alert(1)>", "\u202egnp.exe", "\u001b[31mred\n\r\tx", "W".repeat(250)];
  await api.publish(
    topic,
    keys.map((key) => ({ id: key, partitionKey: key, body: "<script>alert(1)</script> \u202egnp.exe" })),
  );
  await deadLetter(api, topic, group, 4, `<b>"'&lt;\u2066${"x".repeat(900)}`);
  await api.putGroup(topic, group, { maxInFlightPerPartition: 1, leaseDurationMs: 600_000 });
  await api.publish(
    topic,
    keys.map((key) => ({ id: `2 ${key}`, partitionKey: key, body: null })),
  );
  await api.receiveCount(topic, group, 3, {
    subscriber: `s${".long".repeat(25)}`,
    visibilityTimeoutMs: 600_000,
  });
}
