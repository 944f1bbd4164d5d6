import type { Path, Report } from "./issue.ts";
import { objectOf } from "./read-manifests.ts";
import type { JsonObject } from "./read-yaml.ts";

/** Where a variable's value comes from. Values are looked at and never shown, but for names of queues and groups. */
export type VariableSource =
  | { kind: "literal"; value: string }
  /** A number or a truth value: Kubernetes refuses it. */
  | { kind: "not-text" }
  | { kind: "secret" | "config-map"; isWhole: boolean }
  /** The key of `valueFrom`, as in "fieldRef". */
  | { kind: "other"; by: string };

/** A variable as a container has it: of several with one name the last. */
export interface ContainerVariable {
  name: string;
  index: number;
  entry: JsonObject;
  path: Path;
  source: VariableSource;
}

export interface Container {
  name: string;
  index: number;
  path: Path;
  object: JsonObject;
  variables: ReadonlyMap<string, ContainerVariable>;
  /** Its number of entries, also of those that are no variables. */
  envLength: number;
  /** It also has variables that are named elsewhere. */
  hasEnvFrom: boolean;
}

/** A container of a pod template, after saying what of its variables cannot be. */
export function readContainer(object: JsonObject, name: string, path: Path, report: Report): Container {
  const variables = new Map<string, ContainerVariable>();
  const env = object.env ?? [];
  if (!Array.isArray(env)) report("pod-template", [...path, "env"], "must be a list of variables");
  const entries: unknown[] = Array.isArray(env) ? env : [];
  for (const [index, value] of entries.entries()) {
    const entry = objectOf(value);
    const at = [...path, "env", index];
    if (typeof entry?.name !== "string") report("pod-template", at, "must have a name");
    else variables.set(entry.name, { name: entry.name, index, entry, path: at, source: sourceOf(entry) });
  }
  const hasEnvFrom = Array.isArray(object.envFrom) && object.envFrom.length > 0;
  const index = Number(path.at(-1));
  return { name, index, path, object, variables, envLength: entries.length, hasEnvFrom };
}

function sourceOf({ value, valueFrom }: JsonObject): VariableSource {
  const from = objectOf(valueFrom);
  if (from === null) {
    // Kubernetes takes an absent value for an empty one.
    if (value === undefined || value === null) return { kind: "literal", value: "" };
    return typeof value === "string" ? { kind: "literal", value } : { kind: "not-text" };
  }
  const [by = "nothing", ...others] = Object.keys(from).filter((key) => from[key] != null);
  if (others.length > 0 || (value !== undefined && value !== null && value !== "")) {
    return { kind: "other", by: "several at once" };
  }
  const reference = objectOf(from[by]);
  const isWhole = [reference?.name, reference?.key].every((one) => typeof one === "string" && one !== "");
  if (by === "secretKeyRef") return { kind: "secret", isWhole };
  if (by === "configMapKeyRef") return { kind: "config-map", isWhole };
  return { kind: "other", by };
}

/** Names of the secrets that a container has already: by variables, or by volumes that it mounts. */
export function secretsOf(container: Container, podSpec: JsonObject): Set<string> {
  const names = new Set<string>();
  const add = (name: unknown) => {
    if (typeof name === "string" && name !== "") names.add(name);
  };
  for (const { entry } of container.variables.values()) {
    add(objectOf(objectOf(entry.valueFrom)?.secretKeyRef)?.name);
  }
  for (const from of listOf(container.object.envFrom)) add(objectOf(objectOf(from)?.secretRef)?.name);
  const mounted = new Set(listOf(container.object.volumeMounts).map((mount) => objectOf(mount)?.name));
  for (const item of listOf(podSpec.volumes)) {
    const volume = objectOf(item);
    if (!volume || !mounted.has(volume.name)) continue;
    add(objectOf(volume.secret)?.secretName);
    for (const source of listOf(objectOf(volume.projected)?.sources)) {
      add(objectOf(objectOf(source)?.secret)?.name);
    }
  }
  return names;
}

function listOf(value: unknown): unknown[] {
  return Array.isArray(value) ? value : [];
}
