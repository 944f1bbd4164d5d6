import { describe, expect, test } from "vitest";
import { CliError } from "../../../src/cli/cli-error.ts";
import { EXIT } from "../../../src/cli/exit-codes.ts";
import { reportFailure, reportJson, reportText } from "../../../src/cli/failure-report.ts";
import { fieldAsFlag } from "../../../src/cli/field-flags.ts";
import { Interrupted } from "../../../src/cli/interrupts.ts";
import type { Target } from "../../../src/cli/target.ts";
import {
  type ApiErrorInfo,
  FairlaneApiError,
  FairlaneNetworkError,
  RouteGoneError,
} from "../../../src/client/fairlane.ts";

const NOW_MS = 1_800_000_000_000;
const tokenFor = (claims: object) => `e30.${Buffer.from(JSON.stringify(claims)).toString("base64url")}.c2ln`;
const TARGET: Target = {
  url: "http://127.0.0.1:8787",
  urlFrom: "the default",
  tenant: "demo",
  tenantFrom: "the default",
  token: tokenFor({ tenant: "*", scope: "publish", exp: NOW_MS / 1000 + 60 }),
  tokenFrom: "--token",
  withheld: null,
  profile: null,
  warnings: [],
};
const refusal = (info: Partial<ApiErrorInfo>) =>
  new FairlaneApiError({ code: "internal", status: 500, detail: "a detail", requestId: "req-1", ...info });
const report = (error: unknown, target: Partial<Target> | null = {}, mayHaveChanged = true) =>
  reportFailure(error, { target: target && { ...TARGET, ...target }, mayHaveChanged, route: "bob" }, NOW_MS);

describe("exit codes", () => {
  test.each<[Partial<ApiErrorInfo>, number]>([
    [{ code: "invalid-request", status: 400 }, EXIT.failed],
    [{ code: "unauthorized", status: 401 }, EXIT.notAllowed],
    [{ code: "forbidden", status: 403 }, EXIT.notAllowed],
    [{ code: "unknown-tenant", status: 404 }, EXIT.notFound],
    [{ code: "not-found", status: 404 }, EXIT.notFound],
    [{ code: "conflict", status: 409 }, EXIT.failed],
    [{ code: "route-overlap", status: 409 }, EXIT.failed],
    [{ code: "route-undecided", status: 409 }, EXIT.failed],
    [{ code: "payload-too-large", status: 413 }, EXIT.failed],
    [{ code: "rate-limited", status: 429 }, EXIT.unavailable],
    [{ code: "internal", status: 500 }, EXIT.failed],
    [{ code: "store-unavailable", status: 503 }, EXIT.unavailable],
    [{ code: "unexpected-reply", status: 404 }, EXIT.unavailable],
  ])("of %j is %i", (info, exitCode) => {
    expect(report(refusal(info)).exitCode).toBe(exitCode);
    expect(report(refusal(info), null).exitCode).toBe(exitCode);
  });

  test("of everything else", () => {
    expect(report(new FairlaneNetworkError("gone", false)).exitCode).toBe(EXIT.unavailable);
    expect(report(new RouteGoneError("alice", null))).toMatchObject({
      exitCode: EXIT.notFound,
      code: "not-found",
      message: expect.stringContaining("there is no route alice"),
    });
    expect(report(new Interrupted()).exitCode).toBe(EXIT.interrupted);
    expect(report(new CliError("no", EXIT.notFound)).exitCode).toBe(EXIT.notFound);
    expect(report(new Error("a bug")).exitCode).toBe(EXIT.failed);
    expect(report("thrown")).toMatchObject({ exitCode: EXIT.failed, message: "thrown" });
  });
});

describe("two routes that would take the same message", () => {
  const overlap = (info: Partial<ApiErrorInfo>) => report(refusal({ status: 409, ...info }));

  test("are told with their names and the message", () => {
    const witness = { headers: { "x-user": "ab\x1b" }, key: "k" };
    const found = overlap({ code: "route-overlap", route: "alice", witness });
    expect(found.message).toBe(
      'route bob overlaps alice, for example {x-user: "ab\\u001b"} with the key "k"',
    );
    expect(reportJson(found)).toMatchObject({ error: { code: "route-overlap", route: "alice", witness } });
    expect(overlap({ code: "route-overlap" }).message).toBe("route bob overlaps another one");
    expect(reportJson(overlap({ code: "route-overlap" }))).not.toHaveProperty("error.witness");
  });

  test("where it cannot be told, say so and what would help", () => {
    const { message, hint } = overlap({ code: "route-undecided", route: "alice", detail: "too many states" });
    expect(message).toBe("whether route bob overlaps alice cannot be told: too many states");
    expect(hint).toContain("simpler");
  });
});

describe("words say the cause and the next step", () => {
  test("of a server that is not there", () => {
    const text = reportText(report(new FairlaneNetworkError("no connection", false)));
    expect(text).toContain("no server answers at http://127.0.0.1:8787");
    expect(text).toContain("start one with npm start");
    const far = reportText(
      report(new FairlaneNetworkError("x", false), { url: "https://h.example", urlFrom: "--url" }),
    );
    expect(far).toContain("is the address right?");
    const cutOff = new FairlaneNetworkError("cut off", true);
    expect(reportText(report(cutOff))).toContain("may have been done");
    const looked = reportText(report(cutOff, {}, false));
    expect(looked).toContain("nothing was changed: try again");
    expect(looked).toContain("the URL of a TLS server begins with https://");
    expect(looked).not.toContain("may have been done");
  });

  test.each<[string, string, string, string]>([
    ["https://127.0.0.1:8787", "ERR_SSL_WRONG_VERSION_NUMBER", "does not speak TLS", "begins with http://"],
    ["https://127.0.0.1:8787", "ERR_SSL_PACKET_LENGTH_TOO_LONG", "does not speak TLS", "begins with http://"],
    ["https://h.example", "DEPTH_ZERO_SELF_SIGNED_CERT", "is not trusted", "NODE_EXTRA_CA_CERTS"],
    ["https://h.example", "CERT_HAS_EXPIRED", "is not trusted", "NODE_EXTRA_CA_CERTS"],
    ["http://h.example", "HTTPParserError", "does not speak HTTP", "begins with https://"],
    ["http://h.example", "HPE_INVALID_CONSTANT", "does not speak HTTP", "begins with https://"],
  ])("of %s that answers with %s: whatever was asked for", (url, code, message, hint) => {
    const reason = Object.assign(new Error("ssl"), code === "HTTPParserError" ? { name: code } : { code });
    const cause = new TypeError("fetch failed", { cause: reason });
    const text = reportText(
      report(new FairlaneNetworkError("failed", true, cause), { url, urlFrom: "--url" }),
    );
    expect(text).toContain(message);
    expect(text).toContain(hint);
    expect(text).toContain("this one is from --url");
    expect(text).not.toContain("may have been done");
    const other = reportText(report(new FairlaneNetworkError("failed", true, new Error("no code")), { url }));
    expect(other).toContain("may have been done");
  });

  test("of one thing that is wrong are not said twice", () => {
    const issues = [{ path: "topic", message: "must not end in _dlq" }];
    const detail = "topic must not end in _dlq";
    const failure = report(refusal({ code: "invalid-request", status: 400, detail, issues }));
    expect(reportText(failure).split("\n")).toEqual([`the server refused it: ${detail}`, "  request req-1"]);
  });

  test("of a token that is not valid: where it is from, and whether it is over", () => {
    const over = tokenFor({ exp: NOW_MS / 1000 - 3 * 3600 });
    expect(reportText(report(refusal({ status: 401 }), { token: over }))).toContain("it expired 3 h ago");
    const text = reportText(report(refusal({ status: 401 }), { token: "x.y.z" }));
    expect(text).toContain("the token from --token is not valid: the server does not accept it");
    expect(text).toContain("fairlane token --tenant demo");
    expect(text).not.toContain("x.y.z");
  });

  test("of a token that is not there, or was not sent", () => {
    expect(reportText(report(refusal({ status: 401 }), { token: null }))).toContain("and there is none");
    const text = reportText(report(refusal({ status: 401 }), { token: null, withheld: "it is for another" }));
    expect(text).toContain("none was sent: it is for another");
  });

  test("of a token for another tenant, or without the scope", () => {
    const other = tokenFor({ tenant: "acme", scope: "publish" });
    expect(reportText(report(refusal({ status: 403 }), { token: other }))).toMatch(
      /is for tenant acme, and this is tenant demo\n.*--tenant acme/,
    );
    const text = reportText(report(refusal({ status: 403, detail: "the token lacks the scope admin" })));
    expect(text).toMatch(/lacks the scope admin\n.*has the scope: publish/);
  });

  test("of an invalid request name the flags, and the request", () => {
    const issues = [
      { path: "messages[0].partitionKey", message: "is wrong" },
      { path: "odd", message: "is odd" },
    ];
    const failure = report(refusal({ code: "invalid-request", status: 400, issues }));
    expect(reportText(failure).split("\n")).toEqual([
      "the server refused it: a detail",
      "  --key: is wrong",
      "  odd: is odd",
      "  request req-1",
    ]);
    expect(reportJson(failure)).toEqual({
      error: {
        code: "invalid-request",
        message: "the server refused it: a detail",
        exitCode: 1,
        issues,
        status: 400,
        requestId: "req-1",
      },
    });
  });

  test.each([
    ["messages[0].id", "--id"],
    ["messages[4].delayMs", "--delay of message 5"],
    ["messages[0].headers", "--header"],
    ["messages[0].headers.x", "--header x"],
    ['headers["a b"]', "--header a b"],
    ["retry.maxBackoffMs", "--max-backoff"],
    ["topic", "<topic>"],
    ["", "the request"],
    ["ids[3].partitionKey", "--key"],
    ["messages", "messages"],
  ])("field %s is %s", (path, flag) => {
    expect(fieldAsFlag(path)).toBe(flag);
  });
});
