import type { Report } from "./routing-rules.ts";
import { isWord, type SqlToken } from "./sql-tokens.ts";
import { type Block, expressionsOf, type Query, type Statement, subQueries } from "./statement-model.ts";

/** Words in a row that no statement has, and what to do instead. */
const FORBIDDEN: readonly { rule: string; words: readonly string[]; advice: string }[] = [
  {
    rule: "no-locks",
    words: ["FOR", "UPDATE"],
    advice: "FOR UPDATE: make one statement that is atomic by itself",
  },
  {
    rule: "no-locks",
    words: ["FOR", "SHARE"],
    advice: "FOR SHARE: make one statement that is atomic by itself",
  },
  { rule: "no-locks", words: ["LOCK", "IN"], advice: "LOCK IN SHARE MODE: read without a lock" },
  {
    rule: "no-skip-locked",
    words: ["SKIP", "LOCKED"],
    advice: "SKIP LOCKED is not to be relied on: leave it out",
  },
  {
    rule: "no-returning",
    words: ["RETURNING"],
    advice: "RETURNING is MariaDB's alone: read in a statement before",
  },
  {
    rule: "no-insert-ignore",
    words: ["INSERT", "IGNORE"],
    advice: "hides errors as warnings: catch error 1062 instead",
  },
  {
    rule: "no-replace",
    words: ["REPLACE", "INTO"],
    advice: "sharded Vitess refuses REPLACE: use ON DUPLICATE KEY UPDATE",
  },
  {
    rule: "no-calc-found-rows",
    words: ["SQL_CALC_FOUND_ROWS"],
    advice: "reads everything: ask for one row more",
  },
  { rule: "no-natural-join", words: ["NATURAL"], advice: "Vitess refuses NATURAL JOIN: write ON" },
];

/** What the text itself shows, also where the grammar cannot read it. */
export function wordViolations(tokens: readonly SqlToken[], report: Report): void {
  for (const { rule, words, advice } of FORBIDDEN) {
    const isFound = tokens.some((_, at) => words.every((word, place) => isWord(tokens[at + place], word)));
    if (isFound) report(rule, advice);
  }
  const end = tokens.findIndex(({ text }) => text === ";");
  if (end >= 0 && end < tokens.length - 1) {
    report("one-statement", "has a semicolon with more behind it: send one statement at a time");
  }
  const isBareCall = (token: SqlToken, at: number) =>
    isWord(token, "LAST_INSERT_ID") && tokens[at + 1]?.text === "(" && tokens[at + 2]?.text === ")";
  if (tokens.some(isBareCall)) {
    report(
      "no-last-insert-id",
      "LAST_INSERT_ID() asks the session, which another statement may share: pass it a value",
    );
  }
  if (tokens.some((token) => token.kind === "word" && token.text.startsWith("@"))) {
    report(
      "no-variables",
      "uses a session or user variable, which needs a connection of its own: bind a parameter",
    );
  }
}

/**
 * Forms that a sharded Vitess refuses, all of them in its list of unsupported queries
 * (vitessio/vitess, go/vt/vtgate/planbuilder/testdata/unsupported_cases.json, and dml_cases beside it) in one version
 * or another that is in use. What newer planners can merge when both sides are on one shard is refused here as well.
 */
export function dialectViolations(statement: Statement, report: Report): void {
  switch (statement.kind) {
    case "select":
      checkQuery(statement.query, report);
      return;
    case "insert": {
      // "unsupported: subquery in insert values"
      const values = [...(statement.rows ?? []).flat(), ...statement.onDuplicate.map(({ value }) => value)];
      if (values.some((value) => subQueries(value).length > 0)) {
        report("no-sub-query", "INSERT has a sub-query among its values: use INSERT ... SELECT");
      }
      if (statement.query) checkQuery(statement.query, report);
      return;
    }
    case "update":
    case "delete": {
      const what = statement.kind.toUpperCase();
      // "unsupported: multiple tables in update", "unsupported: multi-shard or vindex write statement"
      if (statement.sources.length !== 1 || statement.sources[0]?.query) {
        report("one-table", `${what} names several tables or a derived one: change one table, by its key`);
      }
      // "unsupported: subqueries in sharded DML"
      const values = [statement.where, ...statement.orderBy, ...statement.set.map(({ value }) => value)];
      if (values.some((value) => subQueries(value).length > 0)) {
        report("no-sub-query", `${what} has a sub-query: select first, then change by key or by range`);
      }
    }
  }
}

function checkQuery(query: Query, report: Report): void {
  if (query.hasNamedQueries) report("no-with", "WITH is new in Vitess: write a derived table");
  // "unsupported: subqueries disallowed in GROUP or ORDER BY"
  const sorted = [...query.orderBy, ...query.arms.flatMap((arm) => [...arm.orderBy, ...arm.groupBy])];
  if (sorted.some((expression) => subQueries(expression).length > 0)) {
    report("no-sub-query", "has a sub-query in GROUP BY or ORDER BY: select it as a column");
  }
  for (const arm of query.arms) checkBlock(arm, report);
}

function checkBlock(arm: Block, report: Report): void {
  if (arm.columns.some(({ expression }) => expression.kind === "column" && expression.column === "*")) {
    report("no-star", "selects *: name the columns");
  }
  for (const source of arm.sources) {
    if (source.using) report("no-using", `joins ${source.name} with USING, which Vitess refuses: write ON`);
    const isOuter = /LEFT|RIGHT|FULL/.test(source.join ?? "");
    // "unsupported: LEFT JOIN with derived tables"
    if (isOuter && arm.sources.some(({ query }) => query)) {
      report(
        "no-outer-derived",
        "has an outer join beside a derived table, which Vitess refuses: join it inner",
      );
    }
    if (source.query) checkQuery(source.query, report);
  }
  for (const { query, under } of expressionsOf(arm).flatMap((expression) => subQueries(expression))) {
    checkQuery(query, report);
    if (under !== null && /^(?:NOT )?IN$|\b(?:ANY|ALL|SOME)\b/.test(under)) {
      const hasLimit = query.hasLimit || query.arms.some((inner) => inner.hasLimit);
      // MySQL error 1235: LIMIT & IN/ALL/ANY/SOME subquery.
      if (hasLimit)
        report("no-sub-query", `has LIMIT in a sub-query of ${under}, which MySQL refuses: join it`);
    }
    // "unsupported: union operations in subqueries"
    if (query.arms.length > 1) report("no-sub-query", "has a UNION in a sub-query: make it a derived table");
    if (isCorrelated(query)) {
      report("no-sub-query", "has a sub-query that looks at the outer rows: join, and group");
    }
  }
}

/** Uses a qualified column of no source of its own. */
function isCorrelated(query: Query): boolean {
  return query.arms.some((arm) => {
    const own = new Set(arm.sources.map(({ name }) => name));
    const stack = expressionsOf(arm);
    for (let expression = stack.pop(); expression; expression = stack.pop()) {
      if (expression.kind === "column" && expression.table !== null && !own.has(expression.table))
        return true;
      if (expression.kind === "binary") stack.push(expression.left, expression.right);
      if (expression.kind === "list") stack.push(...expression.items);
      if (expression.kind === "call") stack.push(...expression.args);
      if (expression.kind === "other") stack.push(...expression.parts);
    }
    return false;
  });
}
