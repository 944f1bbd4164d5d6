import { vitessStatements } from "../../src/log/vitess/statements.ts";
import type { Tables } from "./bound-rules.ts";
import { vitessTables } from "./project-schema.ts";
import { type NamedStatement, statementViolations } from "./statement-rules.ts";
import { shapeOf, tenantsNamed } from "./statement-shape.ts";
import { violationLine } from "./violation.ts";

/** Escaped statements that are told apart; of more only the number is kept. */
const MAX_ESCAPED = 100;
const SHOWN_CHARS = 200;

/** Learns from a running suite whether a statement was sent that the linter never saw. */
export class StatementCollector {
  /** Shape to the names of the listed statements that have it. */
  private readonly listed = new Map<string, string[]>();
  private readonly tables: Tables;
  private readonly seenNames = new Set<string>();
  private readonly lines = new Map<string, string>();
  private left = 0;
  private total = 0;

  constructor(listed: readonly NamedStatement[] = vitessStatements(), tables: Tables = vitessTables()) {
    this.tables = tables;
    for (const { name, sql } of listed) {
      const shape = shapeOf(sql);
      this.listed.set(shape, [...(this.listed.get(shape) ?? []), name]);
    }
  }

  /** How many statements were seen: a suite that sent none proves nothing. */
  get count(): number {
    return this.total;
  }

  /** `sql`: as it was sent, with its values filled in. */
  seen(sql: string): void {
    this.total++;
    let shape: string;
    try {
      shape = shapeOf(sql);
    } catch (error) {
      if (!(error instanceof SyntaxError)) throw error;
      this.escape(sql.slice(0, SHOWN_CHARS), `${excerpt(sql)}: is no SQL: ${error.message}`);
      return;
    }
    const names = this.listed.get(shape);
    if (!names) {
      const broken = statementViolations({ name: "unlisted", sql: shape }, this.tables).map(violationLine);
      this.escape(shape, [`${excerpt(sql)}: matches no listed statement`, ...broken].join("; "));
      return;
    }
    for (const name of names) this.seenNames.add(name);
    const tenants = tenantsNamed(sql);
    if (tenants.size > 1)
      this.escape(`${shape} tenants`, `${names.join()}: names ${tenants.size} tenants at once`);
  }

  /** One line for each kind of statement that is not listed, is no SQL, or names several tenants. */
  escaped(): string[] {
    return [...this.lines.values(), ...(this.left > 0 ? [`and ${this.left} more`] : [])];
  }

  /** Names of listed statements that were never sent: no test reached them. */
  unseen(): string[] {
    return [...this.listed.values()].flat().filter((name) => !this.seenNames.has(name));
  }

  private escape(key: string, line: string): void {
    if (this.lines.has(key)) return;
    if (this.lines.size < MAX_ESCAPED) this.lines.set(key, line);
    else this.left++;
  }
}

function excerpt(sql: string): string {
  const text = sql.replace(/\s+/g, " ").trim();
  return text.length > SHOWN_CHARS ? `${text.slice(0, SHOWN_CHARS)}...` : text;
}
