import { boundViolations, type Tables } from "./bound-rules.ts";
import { dialectViolations, wordViolations } from "./dialect-rules.ts";
import { type ParsedStatement, parseStatement, UnreadableStatement } from "./parse-statement.ts";
import { routingViolations } from "./routing-rules.ts";
import { sqlTokens } from "./sql-tokens.ts";
import { expressionsOf, type Query, type Source, type Statement, subQueries } from "./statement-model.ts";
import type { Violation } from "./violation.ts";

/** A statement that the log can send, with `?` for each parameter. */
export interface NamedStatement {
  name: string;
  sql: string;
}

export function statementViolations({ name, sql }: NamedStatement, tables: Tables): Violation[] {
  const found: Violation[] = [];
  const report = (rule: string, advice: string) => {
    const isKnown = found.some((each) => each.rule === rule && each.advice === advice);
    if (!isKnown) found.push({ where: name, rule, advice });
  };
  let parsed: ParsedStatement;
  try {
    wordViolations(
      sqlTokens(sql).filter(({ kind }) => kind !== "comment"),
      report,
    );
    parsed = parseStatement(sql);
  } catch (error) {
    if (!(error instanceof UnreadableStatement || error instanceof SyntaxError)) throw error;
    // What is forbidden is often what cannot be read: then the rule says more than the parser.
    if (found.length === 0) report("readable", `${error.message}: write it so that the linter can read it`);
    return found;
  }
  const { statement, hintedIndexes } = parsed;
  const named = tablesOf(statement);
  for (const table of named.filter((each) => !tables.has(each))) {
    report("known-tables", `names ${table}, which no schema file makes: name a table of the schema`);
  }
  const indexes = new Set(named.flatMap((table) => tables.get(table)?.keys.map((key) => key.name) ?? []));
  for (const index of hintedIndexes.filter((each) => !indexes.has(each))) {
    report("known-indexes", `asks for the index ${index}, which its tables do not have: name one of theirs`);
  }
  if (statement.kind === "insert" && statement.replace) {
    report("no-replace", "sharded Vitess refuses REPLACE: use ON DUPLICATE KEY UPDATE");
  }
  routingViolations(statement, report);
  boundViolations(statement, tables, report);
  dialectViolations(statement, report);
  return found;
}

function tablesOf(statement: Statement): string[] {
  const found: string[] = [];
  const ofSources = (sources: readonly Source[]) => {
    for (const { table, query } of sources) {
      if (table !== null) found.push(table);
      if (query) ofQuery(query);
    }
  };
  const ofQuery = (query: Query) => {
    for (const arm of query.arms) {
      ofSources(arm.sources);
      for (const inner of expressionsOf(arm).flatMap((each) => subQueries(each))) ofQuery(inner.query);
    }
  };
  if (statement.kind === "select") ofQuery(statement.query);
  else if (statement.kind === "insert") {
    found.push(statement.table);
    if (statement.query) ofQuery(statement.query);
  } else {
    ofSources(statement.sources);
    for (const inner of subQueries(statement.where)) ofQuery(inner.query);
  }
  return [...new Set(found)];
}
