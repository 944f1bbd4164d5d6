import { describe, expect, test } from "vitest";
import { putGroupRequest } from "../../../src/protocol/groups.ts";
import { issuesOf } from "../../../src/protocol/issues.ts";
import { openApiDocument } from "../../../src/protocol/openapi.ts";
import { operationList, operations } from "../../../src/protocol/operations.ts";
import { receiveRequest } from "../../../src/protocol/receive.ts";
import { keptReason, settleRequest } from "../../../src/protocol/settle.ts";

describe("requests", () => {
  test("a receive has its defaults", () => {
    expect(receiveRequest.parse({ subscriber: "s" })).toEqual({
      subscriber: "s",
      maxMessages: 10,
      waitMs: 0,
    });
  });

  test("an issue names the field, unknown fields by their own path", () => {
    const settlements = [
      { receipt: "r", action: "ack" },
      { receipt: "r" },
      { receipt: 1, action: "ack", delayMs: 1 },
    ];
    const read = settleRequest.safeParse({ settlements, more: 1, "a b": 1 });
    expect(read.success).toBe(false);
    expect(issuesOf(read.error as never).map((issue) => issue.path)).toEqual([
      "settlements[1].action",
      "settlements[2].receipt",
      "settlements[2].delayMs",
      "more",
      '["a b"]',
    ]);
  });

  test("__proto__ is an unknown field like any other", () => {
    const read = receiveRequest.safeParse(JSON.parse('{"subscriber":"s","__proto__":{"maxMessages":5}}'));
    expect(issuesOf(read.error as never)).toEqual([{ path: "__proto__", message: "is not a known field" }]);
  });

  test("a number that no duration may be is refused", () => {
    for (const leaseDurationMs of [999, 1000.5, 1e300, "1000", null]) {
      expect(putGroupRequest.safeParse({ leaseDurationMs }).success).toBe(false);
    }
    // The longest backoff simply caps the first one too.
    expect(putGroupRequest.safeParse({ retry: { initialBackoffMs: 100, maxBackoffMs: 99 } }).success).toBe(
      true,
    );
    expect(putGroupRequest.safeParse({ retry: 5 }).error?.issues[0]?.message).toBe("must be an object");
  });

  test("a reason is cut to 1,000 characters, never through one, and made well-formed", () => {
    expect(keptReason("r".repeat(1000))).toHaveLength(1000);
    expect(keptReason("r".repeat(1001))).toHaveLength(1000);
    expect(keptReason(`${"r".repeat(999)}🚚`)).toBe(`${"r".repeat(999)}🚚`);
    expect(keptReason("🚚".repeat(1001))).toBe("🚚".repeat(1000));
    expect(keptReason("a\ud800b")).toBe("a\ufffdb");
  });
});

describe("OpenAPI", () => {
  const document = openApiDocument("1.2.3") as {
    openapi: string;
    paths: Record<
      string,
      Record<string, { operationId: string; parameters: { name: string; in: string }[] }>
    >;
  };

  test("has each operation once, with the parameters of its path", () => {
    const described = Object.entries(document.paths).flatMap(([path, item]) =>
      Object.entries(item).map(([method, { operationId, parameters }]) => {
        const inPath = parameters
          .filter((parameter) => parameter.in === "path")
          .map(({ name }) => `{${name}}`);
        expect(path.match(/\{\w+\}/g) ?? []).toEqual(inPath);
        return `${operationId} ${method} ${path}`;
      }),
    );
    const table = operationList().map(([id, { method, path }]) => `${id} ${method.toLowerCase()} ${path}`);
    expect(described.sort()).toEqual(table.sort());
  });

  test("says of a query what it means, not that it is text", () => {
    const list = document.paths[operations.listMessages.path]?.get?.parameters ?? [];
    expect(list).toContainEqual(
      expect.objectContaining({
        name: "limit",
        schema: expect.objectContaining({ type: "integer", maximum: 100 }),
      }),
    );
    expect(JSON.stringify(document)).not.toContain('"override"');
  });

  test("holds the bounds of the requests", () => {
    const text = JSON.stringify(document.paths[operations.publish.path]?.post);
    for (const part of [
      '"maxItems":100',
      '"maximum":604800000',
      '"additionalProperties":false',
      '"maxLength":255',
    ]) {
      expect(text).toContain(part);
    }
  });
});
