import { expect, test } from "vitest";
import { statementKind } from "../../../src/gateway/statement-kind.ts";

test.each([
  ["BEGIN", "begin"],
  [" begin work ; ", "begin"],
  ["START  TRANSACTION", "begin"],
  ["start transaction read only", "begin"],
  ["/* who */ -- what\n# why\nBEGIN", "begin"],
  ["commit", "commit"],
  ["COMMIT WORK;", "commit"],
  ["ROLLBACK", "rollback"],
  ["rollback work", "rollback"],
  ["ROLLBACK TO a", "savepoint"],
  ["ROLLBACK WORK TO SAVEPOINT a", "savepoint"],
  ["SAVEPOINT a", "savepoint"],
  ["RELEASE SAVEPOINT a", "savepoint"],
  ["SELECT 1", "other"],
  ["(select 1)", "other"],
  ["/* set */ SELECT 1", "other"],
  ["-- set\nSELECT 1", "other"],
  ["/*+ hint */ SELECT 1", "other"],
  ["--1", "other"],
  ["setting", "other"],
  ["", "other"],
  ["/* never ends", "other"],
  ["-- never ends", "other"],
  ["COMMIT AND CHAIN", "connection"],
  ["ROLLBACK AND CHAIN", "connection"],
  ["START SLAVE", "connection"],
  ["BEGIN NOT ATOMIC SELECT 1; END", "connection"],
  ["SET autocommit = 0", "connection"],
  ["set@a=1", "connection"],
  ["use other", "connection"],
  ["LOCK TABLES a WRITE", "connection"],
  ["KILL 1", "connection"],
  ["PREPARE a FROM 'x'", "connection"],
  ["XA START 'x'", "connection"],
  ["LOAD DATA LOCAL INFILE 'x' INTO TABLE y", "connection"],
  ["/*!40101 SET autocommit = 0 */", "connection"],
  ["/*M! SET autocommit = 0 */", "connection"],
])("%s is %s", (sql, kind) => {
  expect(statementKind(sql)).toBe(kind);
});

test("a long statement is told by its head", () => {
  expect(statementKind(`INSERT INTO t VALUES ('${"x".repeat(1_000_000)}')`)).toBe("other");
});
