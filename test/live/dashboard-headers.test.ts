import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type Live, setup } from "./harness.ts";
import { expectProblem } from "./problem.ts";

let live: Live;
beforeAll(async () => {
  live = await setup();
});
afterAll(() => live?.close());

const FILES: [path: string, contentType: string][] = [
  ["/ui", "text/html; charset=utf-8"],
  ["/ui/", "text/html; charset=utf-8"],
  ["/ui/app.js", "text/javascript; charset=utf-8"],
  ["/ui/style.css", "text/css; charset=utf-8"],
];
const POLICY = {
  "default-src": "'none'",
  "script-src": "'self'",
  "style-src": "'self'",
  "connect-src": "'self'",
  "img-src": "'self' data:",
  "base-uri": "'none'",
  "form-action": "'none'",
  "frame-ancestors": "'none'",
};

describe.each(FILES)("%s", (path, contentType) => {
  test("needs no token and lets the browser do nothing but what it needs", async () => {
    const { status, headers, text } = await live.open("GET", path);
    expect(status).toBe(200);
    expect(text.length).toBeGreaterThan(100);
    expect(headers.get("content-type")).toBe(contentType);
    const policy = (headers.get("content-security-policy") ?? "").split("; ");
    expect(Object.fromEntries(policy.map((part) => [part.split(" ")[0], part.replace(/^\S+ /, "")]))).toEqual(
      POLICY,
    );
    expect(headers.get("x-content-type-options")).toBe("nosniff");
    expect(headers.get("referrer-policy")).toBe("no-referrer");
    expect(headers.get("cross-origin-opener-policy")).toBe("same-origin");
    expect(headers.get("cache-control")).toBe("no-cache");
    expect(headers.get("set-cookie")).toBeNull();
  });

  test("HEAD has the same headers and no body", async () => {
    const get = await live.open("GET", path);
    const head = await live.open("HEAD", path);
    expect([head.status, head.text]).toEqual([200, ""]);
    for (const name of ["content-type", "etag", "content-security-policy", "cache-control"]) {
      expect(head.headers.get(name), name).toBe(get.headers.get(name));
    }
  });

  test("is sent once: then its ETag is enough", async () => {
    const etag = (await live.open("GET", path)).headers.get("etag") ?? "";
    expect(etag).toMatch(/^"[0-9a-f]{32}"$/);
    for (const known of [etag, `W/${etag}`, `"other", ${etag}`, "*"]) {
      const reply = await live.open("GET", path, { headers: { "if-none-match": known } });
      expect([reply.status, reply.text, reply.headers.get("etag")], known).toEqual([304, "", etag]);
      expect(reply.headers.get("content-security-policy"), known).toContain("default-src 'none'");
    }
    for (const other of ['"other"', etag.replaceAll('"', ""), ""]) {
      const reply = await live.open("GET", path, { headers: { "if-none-match": other } });
      expect(reply.status, other).toBe(200);
    }
  });

  test("takes no other method", async () => {
    for (const method of ["POST", "PUT", "DELETE", "PATCH"]) {
      const reply = await live.open(method, path);
      expectProblem(reply, "not-found");
      expect(reply.headers.get("allow")).toBe("GET, HEAD, OPTIONS");
    }
    const options = await live.open("OPTIONS", path);
    expect([options.status, options.headers.get("allow")]).toEqual([204, "GET, HEAD, OPTIONS"]);
  });
});

test("files differ in their ETags, and the page is one with and without the slash", async () => {
  const etags = await Promise.all(
    FILES.map(async ([path]) => (await live.open("GET", path)).headers.get("etag")),
  );
  expect(etags[0]).toBe(etags[1]);
  expect(new Set(etags).size).toBe(3);
});

test("a caller's request ID is taken over", async () => {
  const { headers } = await live.open("GET", "/ui", { headers: { "x-request-id": "page-1" } });
  expect(headers.get("x-request-id")).toBe("page-1");
});

test("the page names its own files alone and has no script or style in itself", async () => {
  const { text } = await live.open("GET", "/ui");
  expect([...text.matchAll(/(?:src|href)="([^"]+)"/g)].map(([, url]) => url)).toEqual([
    expect.stringMatching(/^data:image\/svg\+xml,/),
    "/ui/style.css",
    "/ui/app.js",
  ]);
  expect(text).not.toMatch(/<script(?![^>]*src=)|<style|\son\w+=|\sstyle=/i);
  const script = await live.open("GET", "/ui/app.js");
  expect(script.text).not.toMatch(/\beval\(|new Function\(|sourceMappingURL/);
});

test.each(["/ui/x", "/ui/app.js/", "/ui//", "/UI", "/ui/assets.generated.ts"])(
  "%s is not found",
  async (path) => {
    expectProblem(await live.open("GET", path), "not-found");
  },
);
