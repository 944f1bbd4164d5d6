import { z } from "zod";
import { MAX_ROUTE_CHARS, MAX_ROUTE_TTL_MS, MIN_ROUTE_TTL_MS } from "../../core/limits.ts";
import { invariantProblem } from "./invariants.ts";
import { migrateDocument, SCHEMA_VERSION } from "./migrate.ts";
import { isLabel } from "./names.ts";
import type { SplitIdentity } from "./new-split.ts";
import { PHASES, type WorkingPhase } from "./phase.ts";
import { position } from "./position.ts";
import {
  MAX_DOCUMENT_BYTES,
  MAX_GENERATION,
  MAX_LABEL_CHARS,
  MAX_PREFIX_CHARS,
  MAX_REASON_CHARS,
  MAX_RESOURCES,
  MAX_ROUTES_PER_QUEUE,
  MAX_SOURCE_NAME_CHARS,
  MAX_SOURCES,
  MAX_SPLIT_ID_CHARS,
} from "./split-limits.ts";
import type { SplitRoute, SplitState } from "./split-state.ts";

/** The document of a split: its schema, and the way in and out of storage. */

const label = z.string().refine((text) => isLabel(text), "is no label");
const counter = z.int().min(1).max(MAX_GENERATION);
const timeMs = z.int().min(0);
const slot = z
  .int()
  .min(0)
  .max(MAX_ROUTES_PER_QUEUE - 1);
const reason = z.string().min(1).max(MAX_REASON_CHARS);
const resourceKind = z.enum(["app-shadow", "route-shadow", "fence", "checkpoint"]);
const workingPhases = PHASES.filter((phase): phase is WorkingPhase => phase !== "Inactive");

export const splitPhase = z.union([
  z.strictObject({ name: z.enum(PHASES) }),
  z.strictObject({ name: z.literal("Degraded"), resumePhase: z.enum(workingPhases), reason }),
]);
export const splitSource = z.strictObject({
  queue: label,
  provider: z.enum(["rabbitmq", "kafka"]),
  sourceName: z.string().min(1).max(MAX_SOURCE_NAME_CHARS),
  checkpoint: position.nullable(),
  frontier: position.nullable(),
});
export const splitRoute = z.strictObject({
  route: z.string().min(1).max(MAX_ROUTE_CHARS),
  queue: label,
  // Its own parser is the judge of it, by the dialect of its queue: see invariants.ts.
  filter: z.custom<SplitRoute["filter"]>((value) => typeof value === "object" && value !== null),
  ttlMs: z.int().min(MIN_ROUTE_TTL_MS).max(MAX_ROUTE_TTL_MS),
  expiresAtMs: timeMs,
  slot,
  state: z.enum(["active", "draining"]),
});
const named = { kind: resourceKind, queue: label, name: label, slot: slot.nullable() };

export const splitResource = z.strictObject({
  ...named,
  state: z.enum(["recorded", "created", "deleting"]),
});

export const splitDocument = z.strictObject({
  schemaVersion: z.literal(SCHEMA_VERSION),
  tenant: z.string().min(1),
  workload: z.string().min(1),
  prefix: z.string().refine((text) => isLabel(text, MAX_PREFIX_CHARS), "is no label"),
  splitId: z.string().max(MAX_SPLIT_ID_CHARS),
  generation: counter,
  agentEpoch: z.int().min(0).max(MAX_GENERATION),
  phase: splitPhase,
  enteredGeneration: counter,
  deadlineAtMs: timeMs.nullable(),
  sources: z.array(splitSource).min(1).max(MAX_SOURCES),
  routes: z.array(splitRoute).max(MAX_SOURCES * MAX_ROUTES_PER_QUEUE),
  resources: z.array(splitResource).max(MAX_RESOURCES),
  retained: z.array(z.strictObject({ ...named, reason })).max(MAX_RESOURCES),
});

export type ReadDocument = { kind: "ok"; state: SplitState } | { kind: "held"; reason: string };

/**
 * A document as storage has it, checked whole. `held`: nothing may be done by it, and it must not be overwritten; the reason
 * says where it is wrong and quotes none of its values but bounded names.
 */
export function readDocument(text: string, identity: SplitIdentity): ReadDocument {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return held("the document is not JSON");
  }
  const migrated = migrateDocument(value);
  if (migrated.kind === "held") return migrated;
  const read = splitDocument.safeParse(migrated.document);
  if (!read.success) return held(`the document does not fit its schema${placeOf(read.error)}`);
  const state: SplitState = read.data;
  if (state.tenant !== identity.tenant || state.workload !== identity.workload) {
    return held("the document is of another workload");
  }
  const problem = invariantProblem(state);
  return problem === null ? { kind: "ok", state } : held(problem);
}

/** null: it has more bytes than a document may have, and must not be stored. */
export function documentText(state: SplitState): string | null {
  const text = JSON.stringify(state);
  // Each UTF-16 unit is at most three bytes: only where that is too many they are counted.
  const mayBeLarge = text.length * 3 > MAX_DOCUMENT_BYTES;
  return mayBeLarge && new TextEncoder().encode(text).length > MAX_DOCUMENT_BYTES ? null : text;
}

function held(reason: string): ReadDocument {
  return { kind: "held", reason };
}

/** Of the first issue: names of fields are ours, those of an unknown field are not and stay out. */
function placeOf({ issues }: z.ZodError): string {
  const [issue] = issues;
  const path = issue?.path.map(String).join(".") ?? "";
  const what = issue?.code === "unrecognized_keys" ? "an unknown field" : "a wrong value";
  return path === "" ? `: ${what}` : `: ${what} at ${path.slice(0, MAX_LABEL_CHARS)}`;
}
