import { expect, test } from "vitest";
import { vitessStatements } from "../../src/log/vitess/statements.ts";
import { tenantRoute, tenantsOf } from "./shard-router.ts";

test.each([
  ["SELECT * FROM m WHERE tenant = 'acme'", ["acme"]],
  ["SELECT * FROM m AS a WHERE 'acme' = a.`tenant` AND topic = 'globex'", ["acme"]],
  ["SELECT * FROM m WHERE tenant IN ('acme', 'globex')", ["acme", "globex"]],
  ["SELECT * FROM a JOIN b ON b.tenant = a.tenant WHERE a.tenant = 'acme'", ["acme"]],
  ["SELECT 1 FROM (SELECT v FROM m WHERE tenant = 'acme') AS d", ["acme"]],
  ["INSERT INTO m (v, tenant) VALUES ('globex', 'acme'), ('x', 'acme')", ["acme"]],
  ["INSERT INTO m (tenant, v) VALUES ('acme', 1), ('globex', 2)", ["acme", "globex"]],
  ["INSERT INTO m (v, tenant) SELECT v, 'acme' FROM m WHERE tenant = 'globex'", ["acme", "globex"]],
  ["UPDATE m SET v = 'globex' WHERE tenant = 'acme'", ["acme"]],
  ["DELETE FROM m WHERE tenant = 'acme' AND (o BETWEEN 1 AND 2 OR o BETWEEN 4 AND 5) LIMIT 10", ["acme"]],
  ["SELECT * FROM m WHERE topic = 'acme'", []],
  ["SELECT 'tenant = ''acme'''", []],
])("%s names %j", (sql, tenants) => {
  expect(tenantsOf(sql)).toEqual(tenants);
});

test("a body is not looked at, however long it is and whatever it holds", () => {
  const body = `tenant = \\'globex\\' ${"é".repeat(500_000)}`;
  expect(tenantsOf(`INSERT INTO m (tenant, v) VALUES ('acme', '${body}')`)).toEqual(["acme"]);
});

test("a route wants exactly one tenant, and a statement that it understands", () => {
  const route = tenantRoute((tenant) => (tenant === "acme" ? 3 : 4));
  expect(route("SELECT * FROM m WHERE tenant = 'acme'")).toBe(3);
  expect(() => route("SELECT * FROM m")).toThrow("names no tenant");
  expect(() => route("SELECT * FROM m WHERE tenant = 'a' OR tenant = 'b'")).toThrow("names 2 tenants");
  expect(() => route("SELEC")).toThrow();
});

test.each([...vitessStatements()])("finds the tenant of: $name", ({ sql }) => {
  const filled = sql.replaceAll(/(LIMIT|BETWEEN|AND|[<>]=?) \?/g, "$1 1").replaceAll("?", "'acme'");
  expect(tenantsOf(filled)).toEqual(["acme"]);
});
