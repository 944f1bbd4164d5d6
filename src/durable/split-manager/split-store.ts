import { documentText, readDocument } from "../../splitting/state/document.ts";
import type { Floors, SplitIdentity } from "../../splitting/state/new-split.ts";
import type { SplitState } from "../../splitting/state/split-state.ts";
import type { Sql } from "../ports.ts";
import { SplitTable } from "./split-table.ts";

export type Loaded =
  | { kind: "absent"; floors: Floors }
  | { kind: "ok"; state: SplitState }
  /** There is a document, and nothing may be done by it: it is not overwritten either. */
  | { kind: "held"; reason: string; generation: number; agentEpoch: number };

export type Saved = "saved" | "raced" | "too-large";

/** The document in storage, checked whole whenever it is another one than the last that was read. */
export class SplitStore {
  readonly identity: SplitIdentity;
  private readonly table: SplitTable;
  /** What `text` was read as: checking twenty filters against each other takes longer than comparing a text. */
  private last: { text: string; loaded: Loaded } | null = null;

  constructor(sql: Sql, identity: SplitIdentity) {
    this.table = new SplitTable(sql);
    this.identity = identity;
  }

  load(): Loaded {
    const row = this.table.read(this.identity);
    if (row === null) return { kind: "absent", floors: { generation: 0, agentEpoch: 0 } };
    const { document, generation, agentEpoch } = row;
    if (document === null) return { kind: "absent", floors: { generation, agentEpoch } };
    if (this.last?.text !== document) {
      const read = readDocument(document, this.identity);
      const loaded: Loaded = read.kind === "ok" ? read : { ...read, generation, agentEpoch };
      this.last = { text: document, loaded };
    }
    const { loaded } = this.last;
    if (loaded.kind !== "ok") return loaded;
    if (loaded.state.generation !== generation || loaded.state.agentEpoch !== agentEpoch) {
      return { kind: "held", reason: "the document is not the one that was written", generation, agentEpoch };
    }
    return loaded;
  }

  /** The compare-and-swap on the generation that `loaded` had. Nothing is done by `state` unless it was saved. */
  save(loaded: Loaded, state: SplitState): Saved {
    const document = documentText(state);
    if (document === null) return "too-large";
    const { generation, agentEpoch } = state;
    return this.write(loaded, { document, generation, agentEpoch }) ? "saved" : "raced";
  }

  /** Forgets the document, and keeps its numbers. */
  remove(state: SplitState): boolean {
    const generation = state.generation + 1;
    const { agentEpoch } = state;
    return this.write({ kind: "ok", state }, { document: null, generation, agentEpoch });
  }

  private write(loaded: Loaded, row: Parameters<SplitTable["insert"]>[1]): boolean {
    switch (loaded.kind) {
      case "held":
        return false;
      case "absent":
        return loaded.floors.generation === 0
          ? this.table.insert(this.identity, row)
          : this.table.replace(this.identity, loaded.floors.generation, row);
      case "ok":
        return this.table.replace(this.identity, loaded.state.generation, row);
    }
  }
}
