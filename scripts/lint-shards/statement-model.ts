/** A statement as the rules look at it: what node-sql-parser read, without its many forms. */
export type Statement = SelectStatement | InsertStatement | ChangeStatement;

export interface SelectStatement {
  kind: "select";
  query: Query;
}

export interface InsertStatement {
  kind: "insert";
  replace: boolean;
  ignore: boolean;
  table: string;
  /** null where the statement has no column list. */
  columns: string[] | null;
  /** null for INSERT ... SELECT. */
  rows: Expression[][] | null;
  query: Query | null;
  /** ON DUPLICATE KEY UPDATE. */
  onDuplicate: ColumnValue[];
}

export interface ChangeStatement {
  kind: "update" | "delete";
  sources: Source[];
  set: ColumnValue[];
  where: Expression | null;
  orderBy: Expression[];
  hasLimit: boolean;
}

export interface ColumnValue {
  column: string;
  value: Expression;
}

/** One SELECT, or the arms of a UNION. */
export interface Query {
  arms: Block[];
  /** ORDER BY and LIMIT of the union as a whole. */
  orderBy: Expression[];
  hasLimit: boolean;
  /** WITH. */
  hasNamedQueries: boolean;
}

export interface Block {
  columns: { expression: Expression; name: string | null }[];
  sources: Source[];
  where: Expression | null;
  groupBy: Expression[];
  having: Expression | null;
  orderBy: Expression[];
  hasLimit: boolean;
}

/** A table, or a derived table, in FROM. */
export interface Source {
  /** By which columns name it: the alias, else the table. */
  name: string;
  /** null for a derived table. */
  table: string | null;
  query: Query | null;
  /** null for the first one and after a comma. */
  join: string | null;
  on: Expression | null;
  using: boolean;
}

export type Expression =
  | { kind: "param" }
  | { kind: "literal" }
  | { kind: "column"; table: string | null; column: string }
  | { kind: "list"; items: Expression[] }
  | { kind: "binary"; operator: string; left: Expression; right: Expression }
  | { kind: "call"; name: string; aggregate: boolean; args: Expression[] }
  | { kind: "query"; query: Query }
  | { kind: "other"; name: string; parts: Expression[] };

/** Direct parts of an expression; a sub-query has none. */
export function partsOf(expression: Expression): Expression[] {
  switch (expression.kind) {
    case "list":
      return expression.items;
    case "binary":
      return [expression.left, expression.right];
    case "call":
      return expression.args;
    case "other":
      return expression.parts;
    default:
      return [];
  }
}

/** The expression and all of its parts, without what is inside sub-queries. */
export function* walk(expression: Expression | null): Generator<Expression> {
  if (!expression) return;
  yield expression;
  for (const part of partsOf(expression)) yield* walk(part);
}

/** The sub-queries directly inside an expression, with the operator that they are the right side of, if any. */
export function subQueries(expression: Expression | null, under: string | null = null): SubQuery[] {
  if (!expression) return [];
  if (expression.kind === "query") return [{ query: expression.query, under }];
  const name = expression.kind === "binary" ? expression.operator : null;
  const own = expression.kind === "other" || expression.kind === "call" ? expression.name : name;
  // An IN list wraps its sub-query in a list.
  return partsOf(expression).flatMap((part) => subQueries(part, expression.kind === "list" ? under : own));
}

export interface SubQuery {
  query: Query;
  under: string | null;
}

/** Every expression of a block, its sources' ON included. */
export function expressionsOf(block: Block): Expression[] {
  const ons = block.sources.map(({ on }) => on);
  return [
    ...block.columns.map(({ expression }) => expression),
    ...[block.where, block.having, ...ons].filter((part) => part !== null),
    ...block.groupBy,
    ...block.orderBy,
  ];
}

/** The parts of a condition that all must hold. */
export function conjuncts(condition: Expression | null): Expression[] {
  if (!condition) return [];
  if (condition.kind === "binary" && condition.operator === "AND") {
    return [...conjuncts(condition.left), ...conjuncts(condition.right)];
  }
  return [condition];
}

/**
 * What holds for every row of a source that is read: WHERE, and ON as far as it filters that source. ON of a LEFT JOIN
 * filters the joined source alone; RIGHT and FULL joins keep rows of one side or both, and are not followed.
 */
export function conditionsOn(
  source: Source,
  sources: readonly Source[],
  where: Expression | null,
): Expression[] {
  const filtering = sources.filter((each) => {
    const join = each.join ?? "";
    if (/RIGHT|FULL/.test(join)) return false;
    return each === source || !/LEFT/.test(join);
  });
  return [...conjuncts(where), ...filtering.flatMap(({ on }) => conjuncts(on))];
}
