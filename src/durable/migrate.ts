import type { Clock, Sql } from "./ports.ts";

/** One schema file: applied once per object, never changed after a release. A change is a further file. */
export interface Migration {
  name: string;
  sql: string;
}

const APPLIED = `CREATE TABLE IF NOT EXISTS queue_migrations (
  name TEXT NOT NULL PRIMARY KEY,
  applied_at_ms INTEGER NOT NULL
) STRICT, WITHOUT ROWID`;

/**
 * Brings an object's database up to date, all or nothing; at its first touch that makes every table.
 * Names that this code does not know are left alone: after a rollback of a deploy the newer tables stay.
 * Returns the names that were applied now.
 */
export function migrate(sql: Sql, clock: Clock, migrations: readonly Migration[]): string[] {
  return sql.transaction(() => {
    sql.run(APPLIED);
    const applied = new Set(sql.all("SELECT name FROM queue_migrations").map((row) => row.name));
    const missing = migrations.filter(({ name }) => !applied.has(name));
    for (const { name, sql: statements } of missing) {
      sql.run(statements);
      sql.run("INSERT INTO queue_migrations (name, applied_at_ms) VALUES (?, ?)", name, clock.nowMs());
    }
    return missing.map(({ name }) => name);
  });
}
