/** The version of the shape that this code writes. */
export const SCHEMA_VERSION = 1;

type Plain = Record<string, unknown>;

/** From each older version to the next. A step adds what the newer shape says of a document that never knew it. */
const STEPS: readonly ((document: Plain) => Plain)[] = [
  /** 0: before anything could be retained, and before a stay in a phase had a generation of its own. */
  (document) => ({
    ...document,
    schemaVersion: 1,
    retained: [],
    // The state that is there now is the oldest that a report can be about.
    enteredGeneration: document.generation,
  }),
];

export type Migrated = { kind: "ok"; document: Plain } | { kind: "held"; reason: string };

/** Brings a document to the newest shape, step by step; what it is beyond its version is for the schema to say. */
export function migrateDocument(document: unknown): Migrated {
  if (typeof document !== "object" || document === null || Array.isArray(document)) {
    return { kind: "held", reason: "the document is no object" };
  }
  const plain = document as Plain;
  const version = plain.schemaVersion;
  if (!Number.isInteger(version) || (version as number) < 0 || (version as number) > SCHEMA_VERSION) {
    return { kind: "held", reason: "unknown document version" };
  }
  const steps = STEPS.slice(version as number);
  return { kind: "ok", document: steps.reduce((before, step) => step(before), plain) };
}
