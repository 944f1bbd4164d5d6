import type { CheckedQueue } from "./check-queue.ts";
import { checkWorkload } from "./check-workload.ts";
import { type Issue, Issues, type Place, quoted, type Rule } from "./issue.ts";
import { nearestName } from "./nearest-name.ts";
import { type ConfigText, parseConfig } from "./parse-config.ts";
import { CONFIG_ANNOTATION, type ManifestSet, readManifests, type Workload } from "./read-manifests.ts";
import { type InputFile, MAX_CONFIG_BYTES, textOf } from "./text-input.ts";

export interface ValidateInput {
  /** All that is applied together, so that an autoscaler beside a workload is seen. */
  manifests: readonly InputFile[];
  /** A configuration of its own; null: workloads carry theirs as an annotation. */
  config: InputFile | null;
  /** "worker", or "Deployment/worker" where that is not enough; null: every one that has a configuration. */
  workload: string | null;
}

/** A workload with a configuration, and the queues of it that are as they must be. */
export interface CheckedWorkload {
  workload: Workload;
  queues: CheckedQueue[];
  /** Nothing is wrong with any of it: a patch can be made of it. */
  valid: boolean;
}

export interface Validation {
  workloads: CheckedWorkload[];
  issues: readonly Issue[];
  /** Found beyond those in the list. */
  left: number;
}

/** Holds every configuration against its workload, and answers all that is wrong at once. */
export function validate({ manifests, config, workload: chosen }: ValidateInput): Validation {
  const issues = new Issues();
  const set = readManifests(manifests, issues);
  const unreadable = issues.count > 0;
  const looked = configured(set, config, chosen, manifests, unreadable, issues).map(
    ({ workload, source }) => {
      const parsed = parseConfig(source, issues);
      return { workload, queues: checkWorkload(workload, parsed.queues, set.autoscalers, parsed.report) };
    },
  );
  const { list, left } = issues;
  const isWrong = ({ label }: Workload) =>
    left > 0 || list.some(({ workload }) => workload === null || workload === label);
  const workloads = looked.map((one) => ({ ...one, valid: !isWrong(one.workload) }));
  return { workloads, issues: sorted(list), left };
}

/** In the order in which a reader comes across them: checks look at a file several times. */
function sorted(issues: readonly Issue[]): Issue[] {
  const files = [...new Set(issues.map(({ file }) => file))];
  const rankOf = ({ file }: Issue) => files.indexOf(file);
  return issues.toSorted(
    (a, b) =>
      rankOf(a) - rankOf(b) ||
      (a.place?.line ?? 0) - (b.place?.line ?? 0) ||
      (a.place?.column ?? 0) - (b.place?.column ?? 0),
  );
}

interface Configured {
  workload: Workload;
  source: ConfigText;
}

/** The workloads that are to be looked at, each with its configuration. */
function configured(
  { workloads }: ManifestSet,
  config: InputFile | null,
  chosen: string | null,
  manifests: readonly InputFile[],
  unreadable: boolean,
  issues: Issues,
): Configured[] {
  const say = (rule: Rule, message: string, suggestion: string | null = null): Configured[] => {
    const file = manifests.map(({ name }) => name).join(", ");
    issues.add({ rule, file, place: null, workload: null, path: "", message, suggestion });
    return [];
  };
  const text = config && textOf(config, MAX_CONFIG_BYTES, issues);
  const named = chosen === null ? workloads : workloads.filter((one) => isNamed(one, chosen));
  if (workloads.length === 0) {
    // What could not be read may have held it.
    if (unreadable) return [];
    return say("workload-missing", "there is no Deployment or StatefulSet of apps/v1 among the manifests");
  }
  if (chosen !== null && named.length === 0) {
    const near = nearestName(chosen, chosen.includes("/") ? workloads.map(labelOf) : workloads.map(nameOf));
    return say("workload-unknown", `there is no workload ${quoted(chosen)}`, near);
  }
  if (config === null) {
    const own = named.filter((workload) => workload.config !== null);
    if (own.length > 0) return own.flatMap(annotated);
    if (unreadable) return [];
    return say(
      "configuration-missing",
      `no workload has the annotation ${CONFIG_ANNOTATION}, and no file is given`,
    );
  }
  const [workload, another] = named;
  if (!workload || another) {
    const names = named.map(labelOf).slice(0, 10).join(", ");
    return say("workload-needed", `a configuration is for one workload: name one of ${names}`);
  }
  if (workload.config !== null) {
    const { document, path } = workload.annotationPlace;
    workload.report(
      "configuration-twice",
      ["metadata", "annotations", CONFIG_ANNOTATION],
      `the workload has a configuration already, at line ${document.placeOf(path).line}, and ${config.name} is another`,
    );
  }
  if (text === null) return [];
  const source: ConfigText = { text, file: config.name, workload: null, placeIn: (place) => place };
  return [{ workload, source }];
}

function annotated(workload: Workload): Configured[] {
  const { document, path } = workload.annotationPlace;
  const text = workload.config ?? "";
  if (text.length > MAX_CONFIG_BYTES) {
    const at = ["metadata", "annotations", CONFIG_ANNOTATION];
    workload.report("input-too-large", at, `has over ${MAX_CONFIG_BYTES} characters`);
    return [];
  }
  const block = document.blockAt(path);
  const start = document.placeOf(path);
  // Only in a literal block a line of the text is a line of the file.
  const placeIn = ({ line, column }: Place): Place =>
    block ? { line: block.line + line - 1, column: block.column + column - 1 } : start;
  return [{ workload, source: { text, file: workload.file, workload: workload.label, placeIn } }];
}

function isNamed(workload: Workload, chosen: string): boolean {
  return chosen.includes("/") ? labelOf(workload) === chosen : workload.name === chosen;
}

function labelOf({ label }: Workload): string {
  return label;
}

function nameOf({ name }: Workload): string {
  return name;
}
