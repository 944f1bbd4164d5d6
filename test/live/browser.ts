import { existsSync, mkdirSync } from "node:fs";
import { delimiter, join } from "node:path";
import { type Browser, chromium, type Page } from "playwright-core";
import { afterAll, afterEach, beforeAll, expect, test } from "vitest";
import { type Live, SECRET, setup, until } from "./harness.ts";
import { tenantToken } from "./tokens.ts";

const NAMES = ["chromium", "chromium-browser", "google-chrome", "google-chrome-stable"];
/** Screenshots go there, where it is given. */
const SHOTS = process.env.DASHBOARD_SHOTS;
export const IS_SHOOTING = Boolean(SHOTS);
/** For one thing to be on the page; the page itself asks every two seconds. */
const PATIENCE_MS = 15_000;
const HEIGHT_PX = 900;

/** The browser of this machine, or null: `CHROMIUM` in the environment, else the first one on the path. */
function chromiumPath(): string | null {
  if (process.env.CHROMIUM) return process.env.CHROMIUM;
  const folders = ["/usr/bin", ...(process.env.PATH ?? "").split(delimiter)].filter(Boolean);
  const paths = folders.flatMap((folder) => NAMES.map((name) => join(folder, name)));
  return paths.find((path) => existsSync(path)) ?? null;
}

export interface PageOptions {
  /** Of another server than the file's own. */
  url?: string;
  width?: number;
  scheme?: "light" | "dark";
  /** What the case brings about, and the browser reports: such as "status of 401". */
  expected?: RegExp;
}

/** A server and a browser, for the tests of one file. */
export interface Place {
  readonly live: Live;
  /** A page in a session of its own, with nothing loaded. */
  blank(options?: PageOptions): Promise<Page>;
  /** The dashboard of a tenant, by a link with a token in it. */
  board(tenant: string, options?: PageOptions & { scope?: string }): Promise<Page>;
}

/**
 * Defines the tests of a file, each of which fails on any error in the console, violation of the policy or request to
 * another host by the pages that it opened. Without a browser there are none: an error in CI, elsewhere a line.
 */
export function inBrowser(tenants: string[], define: (place: Place) => void): void {
  const executablePath = chromiumPath();
  if (executablePath === null) {
    test("a browser is there where it must be", () => {
      console.log(
        "skipped: the dashboard's tests need Chromium (Debian: apt-get install chromium), or CHROMIUM=<path>",
      );
      expect(process.env.CI).not.toBe("true");
    });
    return;
  }
  let live: Live;
  let browser: Browser;
  let opened: WatchedPage[] = [];
  beforeAll(async () => {
    // As root Chromium refuses to start with its sandbox; it sees this suite's own pages only.
    const args = process.getuid?.() === 0 ? ["--no-sandbox"] : [];
    [live, browser] = await Promise.all([setup({ tenants }), chromium.launch({ executablePath, args })]);
  });
  afterAll(async () => {
    await browser?.close();
    await live?.close();
  });
  afterEach(async () => {
    const complaints = opened.flatMap((each) => each.complaints);
    await Promise.all(opened.map(({ page }) => page.context().close()));
    opened = [];
    expect(complaints).toEqual([]);
  });
  const blank: Place["blank"] = async (options = {}) => {
    const watched = await watchedPage(browser, options.url ?? live.url, options);
    opened.push(watched);
    return watched.page;
  };
  define({
    get live() {
      return live;
    },
    blank,
    board: async (tenant, { scope = "publish consume admin", ...options } = {}) => {
      const page = await blank(options);
      await page.goto(`${live.url}/ui#token=${tenantToken(SECRET, tenant, scope)}`);
      return page;
    },
  });
}

interface WatchedPage {
  page: Page;
  /** What must not be. */
  complaints: string[];
}

/** Text: this project's types know no documents. */
const REPORT_VIOLATIONS = `addEventListener("securitypolicyviolation", (event) => {
  console.error("policy: " + event.violatedDirective + " " + event.blockedURI);
});`;

async function watchedPage(browser: Browser, url: string, options: PageOptions): Promise<WatchedPage> {
  const { width = 1280, scheme = "light", expected } = options;
  const context = await browser.newContext({ viewport: { width, height: HEIGHT_PX }, colorScheme: scheme });
  context.setDefaultTimeout(PATIENCE_MS);
  const page = await context.newPage();
  const complaints: string[] = [];
  page.on("console", (message) => {
    const isBad = message.type() === "error" || message.type() === "warning";
    if (isBad && !expected?.test(message.text())) complaints.push(message.text());
  });
  page.on("pageerror", (error) => complaints.push(String(error)));
  page.on("request", (request) => {
    const isOurs = request.url().startsWith(`${url}/`) || request.url().startsWith("data:");
    if (!isOurs) complaints.push(`request to ${request.url()}`);
  });
  await page.addInitScript(REPORT_VIOLATIONS);
  return { page, complaints };
}

/** Polls until the text of what `selector` finds first holds all of `parts`, and returns the text. */
export async function untilText(
  page: Page,
  selector: string,
  ...parts: (string | RegExp)[]
): Promise<string> {
  return until(
    `${selector} with ${parts.join(", ")}`,
    async () => {
      const text = (await page.locator(selector).allInnerTexts()).join("\n");
      const has = (part: string | RegExp) =>
        typeof part === "string" ? text.includes(part) : part.test(text);
      return parts.every(has) && text;
    },
    PATIENCE_MS,
  );
}

/** For looking at it. */
export async function shoot(page: Page, name: string): Promise<void> {
  if (!SHOTS) return;
  await page.evaluate("scrollTo(0, 0)");
  mkdirSync(SHOTS, { recursive: true });
  await page.screenshot({ path: join(SHOTS, `${name}.png`), fullPage: true });
}
