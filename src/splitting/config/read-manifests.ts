import { isObjectName } from "./config-names.ts";
import { type Issues, type Path, pathText, quoted, type Report } from "./issue.ts";
import { nearestName } from "./nearest-name.ts";
import { type JsonObject, readYaml, type YamlDocument } from "./read-yaml.ts";
import { type InputFile, MAX_MANIFEST_BYTES, textOf } from "./text-input.ts";

/** On a workload: its configuration as a text. */
export const CONFIG_ANNOTATION = "fairlane.dev/queue-config";
/** On the pods of a workload that was pointed at its shadows: which pointing it was. */
export const GENERATION_ANNOTATION = "fairlane.dev/override-generation";
const ANNOTATION_PREFIX = "fairlane.dev/";

/** Of workloads, and of autoscalers: each is compared with all the others. */
const MAX_OF_A_SORT = 1000;
/** Names that can be are shorter. */
const MAX_LABEL_CHARS = 300;
const KINDS = ["Deployment", "StatefulSet"] as const;
const API_VERSION = "apps/v1";

export interface Workload {
  kind: (typeof KINDS)[number];
  name: string;
  /** null: the one that it is applied to. */
  namespace: string | null;
  object: JsonObject;
  /** "Deployment/worker". */
  label: string;
  file: string;
  /** The configuration that it carries, or null. */
  config: string | null;
  /** Where its configuration stands: lines of a literal block have places of their own. */
  annotationPlace: { document: YamlDocument; path: Path };
  report: Report;
}

/** Something that changes how many pods of a workload there are. */
export interface Autoscaler {
  kind: "HorizontalPodAutoscaler" | "ScaledObject";
  name: string;
  namespace: string | null;
  targetKind: string;
  targetName: string;
  file: string;
}

export interface ManifestSet {
  workloads: Workload[];
  autoscalers: Autoscaler[];
}

/** The workloads and autoscalers among manifests, which may hold several documents and lists; others are passed over. */
export function readManifests(files: readonly InputFile[], issues: Issues): ManifestSet {
  const set: ManifestSet = { workloads: [], autoscalers: [] };
  for (const file of files) {
    const text = textOf(file, MAX_MANIFEST_BYTES, issues);
    if (text === null) continue;
    const { name } = file;
    const documents = readYaml(text, "1.1", (rule, place, message) =>
      issues.add({ rule, file: name, place, workload: null, path: "", message, suggestion: null }),
    );
    for (const document of documents) {
      for (const found of objectsOf(document.value, []))
        takeObject(set, found, { document, file: name }, issues);
    }
  }
  return set;
}

export function objectOf(value: unknown): JsonObject | null {
  return typeof value === "object" && value !== null && !Array.isArray(value) ? (value as JsonObject) : null;
}

interface Found {
  value: unknown;
  path: Path;
}

/** Lists in lists as well: documents are not nested deeper than they are read. */
function* objectsOf(value: unknown, path: Path): Generator<Found> {
  const { kind, items } = objectOf(value) ?? {};
  if (typeof kind !== "string" || !kind.endsWith("List") || !Array.isArray(items)) {
    yield { value, path };
    return;
  }
  for (const [index, item] of items.entries()) yield* objectsOf(item, [...path, "items", index]);
}

interface From {
  document: YamlDocument;
  file: string;
}

function takeObject(set: ManifestSet, { value, path: base }: Found, from: From, issues: Issues): void {
  const { document, file } = from;
  // Between two separators there may be nothing.
  if (value === null && base.length === 0) return;
  const object = objectOf(value);
  const metadata = objectOf(object?.metadata);
  const label = labelOf(object, metadata);
  const report: Report = (rule, path, message, suggestion = null) => {
    const place = document.placeOf([...base, ...path]);
    issues.add({ rule, file, place, workload: label, path: pathText(path), message, suggestion });
  };
  if (!object || typeof object.kind !== "string" || typeof object.apiVersion !== "string") {
    report("manifest-not-object", [], "is no object of Kubernetes: it must have a kind and an apiVersion");
    return;
  }
  if (set.workloads.length >= MAX_OF_A_SORT || set.autoscalers.length >= MAX_OF_A_SORT) {
    report("yaml-too-many", [], `comes after ${MAX_OF_A_SORT} workloads or autoscalers: give fewer at once`);
    return;
  }
  const scaler = autoscalerOf(object, metadata, file);
  if (scaler) set.autoscalers.push(scaler);
  const config = annotatedConfig(object, metadata, report);
  const kind = KINDS.find((known) => known === object.kind);
  if (!kind || object.apiVersion !== API_VERSION) {
    if (config === null) return;
    const what = `${quoted(object.kind)} of ${quoted(object.apiVersion)}`;
    report(
      "workload-kind",
      ["kind"],
      `only ${KINDS.join(" and ")} of ${API_VERSION} can be split, and no ${what}`,
    );
    return;
  }
  const name = metadata?.name;
  if (typeof name !== "string" || !isObjectName(name)) {
    // One without a configuration is nobody's business.
    if (config !== null)
      report("workload-name", ["metadata", "name"], "must have a name, and not a generated one");
    return;
  }
  const namespace = typeof metadata?.namespace === "string" ? metadata.namespace : null;
  const isTwin = (other: Workload) =>
    other.kind === kind && other.name === name && other.namespace === namespace;
  if (set.workloads.some(isTwin)) {
    report("workload-twice", ["metadata", "name"], "stands twice among the manifests");
    return;
  }
  const annotationPlace = { document, path: [...base, "metadata", "annotations", CONFIG_ANNOTATION] };
  const workload = {
    kind,
    name,
    namespace,
    object,
    label: label ?? name,
    file,
    config,
    annotationPlace,
    report,
  };
  set.workloads.push(workload);
}

function labelOf(object: JsonObject | null, metadata: JsonObject | null): string | null {
  if (typeof object?.kind !== "string" || typeof metadata?.name !== "string") return null;
  return `${object.kind}/${metadata.name}`.slice(0, MAX_LABEL_CHARS);
}

/** The configuration that an object carries, after saying what is wrong with annotations of ours. */
function annotatedConfig(object: JsonObject, metadata: JsonObject | null, report: Report): string | null {
  const annotations = objectOf(metadata?.annotations);
  const path = ["metadata", "annotations"];
  for (const name of Object.keys(annotations ?? {})) {
    if (!name.toLowerCase().startsWith(ANNOTATION_PREFIX)) continue;
    if (name === CONFIG_ANNOTATION || name === GENERATION_ANNOTATION) continue;
    const meant = nearestName(name, [CONFIG_ANNOTATION, GENERATION_ANNOTATION]);
    report("annotation-unknown", [...path, name], `there is no annotation ${quoted(name)}`, meant);
  }
  const template = objectOf(objectOf(object.spec)?.template);
  const onPods = objectOf(objectOf(template?.metadata)?.annotations);
  if (onPods && CONFIG_ANNOTATION in onPods) {
    const misplaced = ["spec", "template", ...path, CONFIG_ANNOTATION];
    report(
      "annotation-misplaced",
      misplaced,
      "the configuration belongs to the workload's own metadata, not its pods'",
    );
  }
  const config = annotations?.[CONFIG_ANNOTATION];
  if (config === undefined) return null;
  if (typeof config === "string") return config;
  report(
    "annotation-not-text",
    [...path, CONFIG_ANNOTATION],
    "must be a text: begin it with | and a new line",
  );
  return null;
}

/** Kubernetes' own, and KEDA's, which makes one of those. */
function autoscalerOf(object: JsonObject, metadata: JsonObject | null, file: string): Autoscaler | null {
  const { kind } = object;
  const group = String(object.apiVersion).split("/")[0];
  const isHorizontal = kind === "HorizontalPodAutoscaler" && group === "autoscaling";
  const isScaled = kind === "ScaledObject" && group === "keda.sh";
  const target = objectOf(objectOf(object.spec)?.scaleTargetRef);
  if ((!isHorizontal && !isScaled) || typeof target?.name !== "string") return null;
  return {
    kind: isHorizontal ? "HorizontalPodAutoscaler" : "ScaledObject",
    name: typeof metadata?.name === "string" ? metadata.name : "",
    namespace: typeof metadata?.namespace === "string" ? metadata.namespace : null,
    // Where KEDA is told no kind, it takes this one.
    targetKind: typeof target.kind === "string" ? target.kind : "Deployment",
    targetName: target.name,
    file,
  };
}
