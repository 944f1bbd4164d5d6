import { describe, expect, test } from "vitest";
import { sourceViolations } from "../../../scripts/lint-shards/source-rules.ts";

const LISTED = [
  { name: "look up", sql: "SELECT topic, retention_ms FROM topics WHERE tenant = ? AND topic = ?" },
  { name: "find entries of partition", sql: "SELECT body FROM messages WHERE tenant = ? LIMIT 5" },
];

function check(text: string, path = "src/log/vitess/planted.ts") {
  const { violations, texts } = sourceViolations([{ path, text }], LISTED);
  return { rules: violations.map(({ rule }) => rule), texts };
}

describe("the source of the log", () => {
  test("has only SQL of listed statements", () => {
    const text = `const OF = "WHERE tenant = ? AND topic = ?";
      const LOOK_UP = readStatement("look up", \`SELECT topic, retention_ms
        FROM topics \${OF}\`);
      const fine = "select a topic"; throw new Error("cannot update it from here");`;
    expect(check(text)).toEqual({ rules: [], texts: 2 });
  });

  test.each([
    ["a plain text", '"SELECT topic FROM topics"'],
    ["a template", "`DELETE FROM messages WHERE tenant = ? AND topic = ? LIMIT $" + "{rows}`"],
    [
      "pieces of two statements",
      "`SELECT topic, retention_ms FROM topics $" + "{x} WHERE tenant = ? LIMIT 5`",
    ],
    ["a condition", '"WHERE topic = ?"'],
    ["lower case", '"delete from messages"'],
    ["a transaction", '"BEGIN"'],
    ["text inside a template's hole", "`a $" + '{ok ? "UNION SELECT 1" : ""} b`'],
  ])("and not %s that no listed one has", (_what, literal) => {
    expect(check(`const planted: string = ${literal};`).rules).toEqual(["listed-sql"]);
  });

  test("makes only statements whose name is listed", () => {
    const make = (name: string) => check(`const a = writeStatement(${name}, sql);`).rules;
    expect(make('"look up"')).toEqual([]);
    expect(make('"look"')).toEqual(["listed-sql"]);
    expect(make('ok ? "look up" : "look down"')).toEqual(["listed-sql"]);
    expect(make("`find entries$" + '{ok ? " of partition" : ""}`')).toEqual([]);
    expect(make("name")).toEqual([]);
    expect(check('const a = copyStatement("copy", sql);').rules).toEqual(["listed-sql"]);
  });

  test("makes no two statements of one name: only one of them would have to be listed", () => {
    expect(check('readStatement("look up", a); readStatement("look up", b);').rules).toEqual(["listed-sql"]);
  });

  test("makes and sends statements in one place", () => {
    const byHand = 'const s = { name: "look up", sql: text, access: "read" };';
    expect(check(byHand).rules).toEqual(["made-in-one-place"]);
    expect(check(byHand, "src/log/vitess/statement.ts").rules).toEqual([]);
    const sent = "await database.send(text, 5);";
    expect(check(sent).rules).toEqual(["made-in-one-place"]);
    expect(check(sent, "src/log/vitess/database.ts").rules).toEqual([]);
    expect(check("connect({ host });").rules).toEqual(["made-in-one-place"]);
    expect(check("await send();").rules).toEqual([]);
  });
});

describe("the rest of the source", () => {
  test.each([
    'import { connect } from "@planetscale/database";',
    'import type { Connection } from "mysql2/promise";',
    'export { createPool } from "mysql2";',
    'export * from "@planetscale/database";',
    'const driver = await import("mysql2/promise");',
  ])("does not use a driver: %s", (text) => {
    expect(check(text, "src/workers/planted.ts").rules).toEqual(["no-other-driver"]);
    expect(check(text, "src/gateway/planted.ts").rules).toEqual([]);
    expect(check(text).rules).toEqual([]);
  });

  test("may have SQL of its own, such as the object's", () => {
    expect(check('const a = "SELECT b FROM c";', "src/log/object/planted.ts")).toEqual({
      rules: [],
      texts: 0,
    });
  });
});
