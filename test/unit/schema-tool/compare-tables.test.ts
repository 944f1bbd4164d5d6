import { describe, expect, test } from "vitest";
import { tableDifferences } from "../../../scripts/schema/compare-tables.ts";
import { parseCreateTable } from "../../../scripts/schema/create-table.ts";
import { normalType } from "../../../scripts/schema/table-schema.ts";

const FILE = `CREATE TABLE t (
  tenant VARCHAR(64) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  place BIGINT UNSIGNED NOT NULL,
  note VARCHAR(20) NULL,
  rate DOUBLE NOT NULL DEFAULT 1,
  body MEDIUMBLOB NOT NULL,
  PRIMARY KEY (tenant, place),
  UNIQUE KEY by_note (tenant, note(5)),
  KEY by_rate (tenant, rate DESC)
) ENGINE=InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin`;

function differences(change: (sql: string) => string): string[] {
  const planted = change(FILE);
  expect(planted === FILE && change("x") !== "x").toBe(false);
  return tableDifferences(parseCreateTable(FILE), parseCreateTable(planted));
}

describe("a table of a server", () => {
  test("is as its file when only comments, layout and spellings differ", () => {
    expect(differences((sql) => sql.replace("place BIGINT", "-- Where it is.\n place bigint(20)"))).toEqual(
      [],
    );
  });

  test.each([
    ["VARCHAR(64)", "VARCHAR(65)", "column tenant: type is varchar(65), not varchar(64)"],
    ["BIGINT UNSIGNED", "BIGINT", "column place: type is bigint, not bigint unsigned"],
    ["MEDIUMBLOB", "BLOB", "column body: type is blob, not mediumblob"],
    [
      "CHARACTER SET ascii COLLATE ascii_bin",
      "CHARACTER SET latin1 COLLATE ascii_bin",
      "column tenant: character set is latin1, not ascii",
    ],
    ["ascii_bin", "ascii_general_ci", "column tenant: collation is ascii_general_ci, not ascii_bin"],
    [
      "COLLATE utf8mb4_bin",
      "COLLATE utf8mb4_general_ci",
      "column note: collation is utf8mb4_general_ci, not utf8mb4_bin",
    ],
    ["VARCHAR(20) NULL", "VARCHAR(20) NOT NULL", "column note: NULL is refused, not allowed"],
    ["DEFAULT 1", "", "column rate: default is none, not 1"],
    ["DEFAULT 1", "DEFAULT 2", "column rate: default is 2, not 1"],
    ["UNSIGNED NOT NULL", "UNSIGNED NOT NULL AUTO_INCREMENT", "column place: AUTO_INCREMENT is on, not off"],
    ["  body MEDIUMBLOB NOT NULL,\n", "", "column body is missing"],
    ["  body", "  extra INT NULL,\n  body", "column extra is not in the file"],
    [
      "PRIMARY KEY (tenant, place)",
      "PRIMARY KEY (place, tenant)",
      "key PRIMARY is unique (place, tenant), not unique (tenant, place)",
    ],
    ["note(5)", "note(6)", "key by_note is unique (tenant, note(6)), not unique (tenant, note(5))"],
    ["UNIQUE KEY", "KEY", "key by_note is (tenant, note(5)), not unique (tenant, note(5))"],
    ["rate DESC", "rate", "key by_rate is (tenant, rate), not (tenant, rate DESC)"],
    [",\n  KEY by_rate (tenant, rate DESC)", "", "key by_rate is missing"],
    ["KEY by_rate", "KEY by_place (tenant),\n  KEY by_rate", "key by_place is not in the file"],
    ["InnoDB", "MyISAM", "engine is myisam, not innodb"],
    [") ENGINE", ", FOREIGN KEY (tenant) REFERENCES u (tenant)\n) ENGINE", "has a foreign key"],
  ])("%s as %s: %s", (good, planted, expected) => {
    expect(FILE).toContain(good);
    expect(differences((sql) => sql.replace(good, planted))).toEqual([expected]);
  });
});

describe("a type", () => {
  test.each([
    ["BIGINT(20) UNSIGNED", "bigint unsigned"],
    ["int(11)", "int"],
    ["INTEGER", "int"],
    ["BOOLEAN", "tinyint"],
    ["tinyint(1)", "tinyint"],
    ["varchar(64)", "varchar(64)"],
    ["NUMERIC(10,2)", "decimal(10,2)"],
    ["double  precision", "double"],
    ["datetime(6)", "datetime(6)"],
    ["enum('a','b')", "enum('a','b')"],
  ])("%s is %s", (type, expected) => {
    expect(normalType(type)).toBe(expected);
  });
});
