import { describe, expect, test } from "vitest";
import { FairlaneApiError } from "../../../src/client/fairlane.ts";
import {
  exactTime,
  formatAgo,
  formatCount,
  formatDuration,
  formatIn,
  visibleText,
} from "../../../src/dashboard/format.ts";
import { bytesOfBase64, bytesOfText, PREVIEW_BYTES, previewOf } from "../../../src/dashboard/preview.ts";
import { problemOf } from "../../../src/dashboard/problem.ts";
import { ServerClock } from "../../../src/dashboard/server-clock.ts";
import { claimsOf, fromFragment, keepSession, loadSession } from "../../../src/dashboard/session.ts";

const bytesOf = (text: string) => new TextEncoder().encode(text);

describe("figures and times", () => {
  test.each([
    [0, "0 s"],
    [-5, "0 s"],
    [59_999, "59 s"],
    [60_000, "1 min"],
    [185_000, "3 min 5 s"],
    [7_500_000, "2 h 5 min"],
    [356_400_000, "4 d 3 h"],
  ])("%d ms are %s", (ms, text) => {
    expect(formatDuration(ms)).toBe(text);
  });

  test("what is past is so long ago, what is to come is not yet there", () => {
    expect([formatAgo(1000, 13_000), formatAgo(13_000, 1000)]).toEqual(["12 s ago", "in 12 s"]);
    expect([formatIn(1001, 1000), formatIn(1000, 1000), formatIn(62_000, 1000)]).toEqual([
      "in 1 s",
      "now",
      "in 1 min 1 s",
    ]);
    expect([formatCount(12_345), formatCount(10_000, true)]).toEqual(["12,345", "≥ 10,000"]);
    expect(exactTime(0)).toBe("1970-01-01 00:00:00.000 UTC");
    expect(exactTime(Number.MAX_VALUE)).toMatch(/^\d/);
  });

  test("a browser's clock that is right enough counts, a wrong one is corrected by the nearest reply", () => {
    let localMs = 1_000_000;
    const clock = new ServerClock(() => localMs);
    clock.observe(localMs - 3000);
    expect(clock.nowMs()).toBe(localMs);
    for (const delayMs of [4000, 200, 3000]) clock.observe(localMs + 3_600_000 - delayMs);
    expect(clock.nowMs()).toBe(localMs + 3_600_000 - 200);
    localMs += 500;
    expect(clock.nowMs()).toBe(localMs + 3_600_000 - 200);
    for (let i = 0; i < 30; i++) clock.observe(localMs);
    expect(clock.nowMs()).toBe(localMs);
  });
});

describe("text of others", () => {
  test.each([
    ["plain, ünïcode ✓ 日本", "plain, ünïcode ✓ 日本"],
    ["a\u0000b\u001b[0m\u007f", "a⟨0000⟩b⟨001B⟩[0m⟨007F⟩"],
    ["\u202eexe.\u2066x\u200f\u061c\ufeff", "⟨202E⟩exe.⟨2066⟩x⟨200F⟩⟨061C⟩⟨FEFF⟩"],
    ["line\u2028break\u2029\u0085", "line⟨2028⟩break⟨2029⟩⟨0085⟩"],
    ["lone \ud800 surrogate", "lone ⟨D800⟩ surrogate"],
    ["<b>&amp;", "<b>&amp;"],
  ])("%j is seen for what it is", (text, shown) => {
    expect(visibleText(text)).toBe(shown);
  });

  test("a body is text where it can be, with its lines, and hex where it cannot", () => {
    expect(previewOf(bytesOf('{\n\t"a": 1.0\r\n}'), "application/json")).toEqual({
      kind: "text",
      text: '{\n\t"a": 1.0⟨000D⟩\n}',
      contentType: "application/json",
      bodyBytes: 14,
      cut: false,
    });
    expect(previewOf(new Uint8Array(), "text/plain")).toMatchObject({
      kind: "text",
      text: "",
      bodyBytes: 0,
      cut: false,
    });
    expect(previewOf(Uint8Array.of(0x41, 0xff), "text/plain").text).toBe(`0000  41 ff${" ".repeat(44)}A.`);
    expect(previewOf(bytesOf("a\0b"), "text/plain").kind).toBe("hex");
    const long = previewOf(new Uint8Array(PREVIEW_BYTES + 1), "x/y");
    expect([long.kind, long.cut, long.text.split("\n").length]).toEqual(["hex", true, PREVIEW_BYTES / 16]);
  });

  test("a character that the cut goes through is left out, one that is broken makes hex", () => {
    const cut = previewOf(bytesOf("é".repeat(PREVIEW_BYTES)).subarray(1), "text/plain");
    expect(cut.kind).toBe("hex");
    const text = previewOf(bytesOf(`x${"é".repeat(PREVIEW_BYTES)}`), "text/plain");
    expect([text.kind, text.text.length, text.cut]).toEqual(["text", PREVIEW_BYTES / 2, true]);
    expect(previewOf(bytesOf("aé").subarray(0, 2), "text/plain").kind).toBe("hex");
  });

  test.each([
    ["short", '{ "n": 9007199254740993, "é": 1.0}', false],
    ["of just so many bytes", "é".repeat(PREVIEW_BYTES / 2), false],
    ["of one more", `${"é".repeat(PREVIEW_BYTES / 2)}x`, true],
    ["long", "x".repeat(2 * PREVIEW_BYTES), true],
    ["long, with a pair where the cut is", `x${"🚚".repeat(PREVIEW_BYTES)}`, true],
  ])("a text is shown to its cut: %s", (_, text, cut) => {
    const start = bytesOfText(text);
    expect(start.length).toBeLessThan(3 * PREVIEW_BYTES + 4);
    const bodyBytes = Buffer.byteLength(text);
    const shown = previewOf(start, "application/json", bodyBytes);
    expect(shown).toMatchObject({ kind: "text", bodyBytes, cut });
    expect(text.startsWith(shown.text)).toBe(true);
    expect(Buffer.byteLength(shown.text)).toBeGreaterThan(Math.min(bodyBytes, PREVIEW_BYTES) - 4);
  });

  test("base64 is read no further than it is shown", () => {
    const bytes = Uint8Array.from({ length: 10_000 }, (_, i) => i % 251);
    const start = bytesOfBase64(Buffer.from(bytes).toString("base64"));
    expect(start.length).toBeGreaterThan(PREVIEW_BYTES);
    expect(start.length).toBeLessThan(PREVIEW_BYTES + 4);
    expect(start).toEqual(bytes.subarray(0, start.length));
    expect(bytesOfBase64("")).toEqual(new Uint8Array());
  });
});

describe("the session", () => {
  const tokenOf = (claims: unknown) => `h.${Buffer.from(JSON.stringify(claims)).toString("base64url")}.s`;

  test("a token says its tenant, scopes and end", () => {
    expect(claimsOf(tokenOf({ tenant: "acme", scope: "consume  admin", exp: 10 }))).toEqual({
      tenant: "acme",
      scopes: ["consume", "admin"],
      expiresAtMs: 10_000,
    });
    expect(claimsOf(tokenOf({ tenant: "*", scope: "" }))).toEqual({
      tenant: null,
      scopes: [],
      expiresAtMs: null,
    });
  });

  test.each([
    "",
    "a.b",
    "a.b.c",
    "a.b.c.d",
    tokenOf(null),
    tokenOf({ tenant: 1, scope: "" }),
    `${tokenOf({})} x`,
    "h.e30.s".padEnd(40, "s"),
  ])("%j is no token", (token) => {
    expect(claimsOf(token)).toBeNull();
  });

  test("nor is one that is longer than the server takes", () => {
    const claims = { tenant: "demo", scope: "consume", more: "x".repeat(4000) };
    expect(claimsOf(tokenOf(claims))).toBeNull();
    expect(claimsOf(tokenOf({ ...claims, more: "" }))).not.toBeNull();
  });

  test("a link brings a token, a tenant, both or nothing", () => {
    expect(fromFragment("#token=a.b-c_d.e&tenant=demo")).toEqual({ token: "a.b-c_d.e", tenant: "demo" });
    expect(fromFragment("#tenant=demo")).toEqual({ token: null, tenant: "demo" });
    for (const other of ["", "#", "#topics"]) expect(fromFragment(other)).toBeNull();
  });

  test("is kept in the tab where that may be, and asked for where it may not", () => {
    const texts = new Map<string, string>();
    const tab = {
      getItem: (key: string) => texts.get(key) ?? null,
      setItem: (key: string, text: string) => void texts.set(key, text),
      removeItem: (key: string) => void texts.delete(key),
    };
    expect(keepSession(tab, { tenant: "demo", token: null })).toBe(true);
    expect(loadSession(tab)).toEqual({ tenant: "demo", token: null });
    for (const broken of ["{", "1", "null", '{"tenant":1}', '{"tenant":"a","token":1}']) {
      texts.set("fairlane.session", broken);
      expect(loadSession(tab), broken).toBeNull();
    }
    keepSession(tab, null);
    expect(texts.size).toBe(0);
    const forbidden = () => {
      throw new Error("SecurityError");
    };
    const none = { getItem: forbidden, setItem: forbidden, removeItem: forbidden };
    expect([loadSession(none), keepSession(none, { tenant: "demo", token: "t" })]).toEqual([null, false]);
  });
});

test("a failure is told with what the server said, and the request", () => {
  const error = new FairlaneApiError({
    code: "invalid-request",
    status: 400,
    detail: "nothing was stored",
    issues: [{ path: "ids", message: "too many" }],
    requestId: "r-1",
  });
  expect(problemOf("Redriving", error, 5)).toEqual({
    what: "Redriving",
    detail: "nothing was stored; ids: too many",
    status: 400,
    code: "invalid-request",
    requestId: "r-1",
    retryAtMs: 5,
  });
  expect(problemOf("Reading", new TypeError("Failed to fetch"))).toMatchObject({
    detail: "Failed to fetch",
    status: null,
  });
});
