import {
  type Block,
  type ChangeStatement,
  conditionsOn,
  type Expression,
  expressionsOf,
  type InsertStatement,
  type Query,
  type Source,
  type Statement,
  subQueries,
} from "./statement-model.ts";
import { TENANT } from "./table-rules.ts";

export type Report = (rule: string, advice: string) => void;

/**
 * Every table of a statement stays on the tenant's shard: it is bound by `tenant = ?`, or by `tenant = other.tenant` to
 * a table that is. Each SELECT stands for itself: one inside another does not count on the outer one's equality, because
 * whether vtgate merges the two depends on its version.
 */
export function routingViolations(statement: Statement, report: Report): void {
  switch (statement.kind) {
    case "select":
      if (!hasTable(statement.query)) {
        report(
          "routed",
          "names no table, so that vtgate sends it to any shard: read from a table of the tenant",
        );
      }
      checkQuery(statement.query, report);
      return;
    case "insert":
      checkInsert(statement, report);
      return;
    case "update":
    case "delete":
      checkChange(statement, report);
  }
}

function checkChange(statement: ChangeStatement, report: Report): void {
  checkBound(statement.sources, statement.where, report);
  for (const { query } of subQueries(statement.where)) checkQuery(query, report);
  for (const { column, value } of statement.set) {
    if (column === TENANT)
      report("routed", `sets ${TENANT}, which would move the row to another shard: leave it`);
    for (const { query } of subQueries(value)) checkQuery(query, report);
  }
}

function checkInsert(statement: InsertStatement, report: Report): void {
  for (const { column } of statement.onDuplicate) {
    // Vitess: "unsupported: DML cannot change vindex column".
    if (column === TENANT)
      report("routed", `sets ${TENANT} ON DUPLICATE KEY, which Vitess refuses: leave it`);
  }
  const place = statement.columns?.indexOf(TENANT) ?? -1;
  if (place < 0) {
    report("routed", `INSERT does not name the column ${TENANT}: name it`);
    return;
  }
  const isBound = (statement.rows ?? []).every((row) => row[place]?.kind === "param");
  if (!isBound) report("routed", `INSERT has a row whose ${TENANT} is no parameter: bind it`);
  if (!statement.query) return;
  checkQuery(statement.query, report);
  for (const arm of statement.query.arms) checkSameTenant(arm, place, report);
}

/** The rows that are written are of the tenant that they are read from. */
function checkSameTenant(arm: Block, place: number, report: Report): void {
  const value = arm.columns[place]?.expression;
  const bound = boundSources(arm.sources, arm.where);
  const source = value?.kind === "column" && value.column === TENANT ? sourceOf(arm.sources, value) : null;
  if (!source || !bound.has(source)) {
    report(
      "routed",
      `INSERT ... SELECT does not write the ${TENANT} that it reads: select that table's ${TENANT}`,
    );
  }
}

function hasTable(query: Query): boolean {
  return query.arms.some((arm) => arm.sources.some((source) => !source.query || hasTable(source.query)));
}

function checkQuery(query: Query, report: Report): void {
  for (const arm of query.arms) {
    checkBound(arm.sources, arm.where, report);
    const inner = expressionsOf(arm).flatMap((expression) => subQueries(expression));
    for (const each of inner) checkQuery(each.query, report);
  }
  for (const expression of query.orderBy) {
    for (const inner of subQueries(expression)) checkQuery(inner.query, report);
  }
}

function checkBound(sources: readonly Source[], where: Expression | null, report: Report): void {
  const bound = boundSources(sources, where);
  for (const source of sources) {
    if (source.query) checkQuery(source.query, report);
    else if (!bound.has(source)) {
      report("routed", `${source.name} is not bound by an equality on ${TENANT}: add ${TENANT} = ? for it`);
    }
  }
}

function boundSources(sources: readonly Source[], where: Expression | null): Set<Source> {
  const bound = new Set<Source>();
  for (let before = -1; bound.size > before; ) {
    before = bound.size;
    for (const source of sources) {
      const isBound = conditionsOn(source, sources, where).some((condition) => {
        if (condition.kind !== "binary" || condition.operator !== "=") return false;
        const { left, right } = condition;
        return (
          (tenantSource(sources, left) === source && isRouting(sources, bound, right)) ||
          (tenantSource(sources, right) === source && isRouting(sources, bound, left))
        );
      });
      if (isBound) bound.add(source);
    }
  }
  return bound;
}

function isRouting(sources: readonly Source[], bound: ReadonlySet<Source>, value: Expression): boolean {
  if (value.kind === "param") return true;
  const source = tenantSource(sources, value);
  // A derived table hands on the tenant that it selects from a table that is bound inside it.
  return source !== null && (bound.has(source) || (source.query !== null && exposesTenant(source.query)));
}

function exposesTenant(query: Query): boolean {
  return query.arms.every((arm) =>
    arm.columns.some(({ expression, name }) => {
      if (name !== TENANT || expression.kind !== "column" || expression.column !== TENANT) return false;
      const source = sourceOf(arm.sources, expression);
      return source !== null && boundSources(arm.sources, arm.where).has(source);
    }),
  );
}

/** The source whose tenant this is; null for anything else. */
function tenantSource(sources: readonly Source[], value: Expression): Source | null {
  return value.kind === "column" && value.column === TENANT ? sourceOf(sources, value) : null;
}

/** Without a qualifier: the only source that can have a tenant. */
function sourceOf(
  sources: readonly Source[],
  { table }: Extract<Expression, { kind: "column" }>,
): Source | null {
  if (table !== null) return sources.find(({ name }) => name === table) ?? null;
  const possible = sources.filter(({ query }) => query === null || exposesTenant(query));
  return possible.length === 1 ? (possible[0] ?? null) : null;
}
