import type { SplitIdentity } from "../../splitting/state/new-split.ts";
import type { Migration } from "../migrate.ts";
import type { Sql } from "../ports.ts";

/** One row: the document of the workload that the object belongs to, and what must outlive the document. */
export const SPLIT_SCHEMA: readonly Migration[] = [
  {
    name: "0001-split-documents",
    sql: `CREATE TABLE split_documents (
  tenant TEXT NOT NULL,         -- whose workload it is
  workload TEXT NOT NULL,       -- the workload's name
  document TEXT,                -- JSON of the split's state; NULL: it was deleted
  generation INTEGER NOT NULL,  -- of the document; the highest ever, also once it is deleted
  agent_epoch INTEGER NOT NULL, -- the highest ever given to a queue agent
  PRIMARY KEY (tenant, workload)
) STRICT, WITHOUT ROWID`,
  },
];

export interface SplitRow {
  document: string | null;
  generation: number;
  agentEpoch: number;
}

/** What is written, or with a null document left behind. */
export type NewSplitRow = SplitRow;

export class SplitTable {
  private readonly sql: Sql;

  constructor(sql: Sql) {
    this.sql = sql;
  }

  /** Whose object it is; null: nothing was ever declared here. */
  identity(): SplitIdentity | null {
    const [row] = this.sql.all("SELECT tenant, workload FROM split_documents LIMIT 1");
    return row === undefined ? null : { tenant: String(row.tenant), workload: String(row.workload) };
  }

  read({ tenant, workload }: SplitIdentity): SplitRow | null {
    const [row] = this.sql.all(
      "SELECT document, generation, agent_epoch FROM split_documents WHERE tenant = ? AND workload = ?",
      tenant,
      workload,
    );
    if (row === undefined) return null;
    const { document, generation, agent_epoch } = row;
    return {
      document: document === null ? null : String(document),
      generation: Number(generation),
      agentEpoch: Number(agent_epoch),
    };
  }

  /** The first one. False: there is one already. */
  insert({ tenant, workload }: SplitIdentity, { document, generation, agentEpoch }: NewSplitRow): boolean {
    const inserted = this.sql.run(
      `INSERT INTO split_documents (tenant, workload, document, generation, agent_epoch) VALUES (?, ?, ?, ?, ?)
       ON CONFLICT (tenant, workload) DO NOTHING`,
      tenant,
      workload,
      document,
      generation,
      agentEpoch,
    );
    return inserted === 1;
  }

  /** False: somebody else wrote since `expectedGeneration` was read. */
  replace(
    { tenant, workload }: SplitIdentity,
    expectedGeneration: number,
    { document, generation, agentEpoch }: NewSplitRow,
  ): boolean {
    const changed = this.sql.run(
      `UPDATE split_documents SET document = ?, generation = ?, agent_epoch = ?
       WHERE tenant = ? AND workload = ? AND generation = ?`,
      document,
      generation,
      agentEpoch,
      tenant,
      workload,
      expectedGeneration,
    );
    return changed === 1;
  }
}
