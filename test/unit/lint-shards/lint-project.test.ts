import { describe, expect, test } from "vitest";
import { type LintInput, lintShards, projectInput } from "../../../scripts/lint-shards/lint-project.ts";
import { violationLine } from "../../../scripts/lint-shards/violation.ts";
import { vitessStatements } from "../../../src/log/vitess/statements.ts";

const project = projectInput(vitessStatements());
const lint = (planted: Partial<LintInput>) => lintShards({ ...project, ...planted });
const rulesAt = (planted: Partial<LintInput>) =>
  lint(planted).violations.map(({ where, rule }) => `${where}: ${rule}`);

describe("the project", () => {
  test("keeps every rule, and all of it was looked at", () => {
    const { violations, checked } = lintShards(project);
    expect(violations.map(violationLine)).toEqual([]);
    // The object's files also alter tables of files before them.
    expect(checked.tables).toBeGreaterThan(project.vitessFiles.length + 5);
    expect(checked.statements).toBeGreaterThan(30);
    expect(checked.keys).toBeGreaterThan(checked.tables);
    expect(checked.sourceTexts).toBeGreaterThan(20);
  });
});

describe("a violation is found", () => {
  test("in the schema", () => {
    const vitessFiles = project.vitessFiles.map(({ name, sql }) => ({
      name,
      sql: sql.replace(
        "PRIMARY KEY (tenant, topic, message_offset)",
        "PRIMARY KEY (topic, tenant, message_offset)",
      ),
    }));
    expect(rulesAt({ vitessFiles })).toContain("schema/vitess/queue_messages.sql: tenant-leads-keys");
  });

  test("in a file that makes no table, or one that another file makes", () => {
    const [first] = project.vitessFiles;
    const again = { name: "again.sql", sql: first?.sql ?? "" };
    expect(rulesAt({ vitessFiles: [...project.vitessFiles, again] })).toEqual(["again.sql: readable"]);
    const empty = { name: "empty.sql", sql: "" };
    expect(rulesAt({ vitessFiles: [...project.vitessFiles, empty] })).toEqual(["empty.sql: readable"]);
  });

  test("between the schema and the vschema", () => {
    const text = project.vschema.text.replace('"queue_topics"', '"queue_topic"');
    expect(rulesAt({ vschema: { name: "vschema.json", text } })).toEqual([
      ...["vschema.json: vschema-tables", "vschema.json: vschema-tables"],
    ]);
  });

  test("in a statement", () => {
    const statements = [
      ...project.statements,
      { name: "planted", sql: "DELETE FROM queue_messages WHERE topic = ?" },
    ];
    expect(rulesAt({ statements })).toEqual(["planted: routed", "planted: bounded-change"]);
  });

  test("when a statement is taken off the list", () => {
    const statements = project.statements.filter(({ name }) => name !== "purge");
    expect(rulesAt({ statements })).toContain("src/log/vitess/message-delete.ts: listed-sql");
  });

  test("in the source", () => {
    const planted = {
      path: "src/log/vitess/planted.ts",
      text: 'export const a = "TRUNCATE queue_messages";',
    };
    expect(rulesAt({ sources: [...project.sources, planted] })).toEqual([
      "src/log/vitess/planted.ts: listed-sql",
    ]);
  });

  test("where there is nothing to look at", () => {
    expect(rulesAt({ objectFiles: [] })).toEqual(["schema/object: found-something"]);
    expect(rulesAt({ sources: [] })).toEqual(["src: found-something"]);
    expect(rulesAt({ statements: [] })).toContain("vitessStatements(): found-something");
    expect(rulesAt({ vitessFiles: [] })).toContain("schema/vitess: found-something");
  });

  test("and told in one line", () => {
    expect(violationLine({ where: "a.sql", rule: "b", advice: "c" })).toBe("a.sql: b: c");
  });
});
