/** What a configuration, or a workload that it is for, can have wrong. Scripts rely on these names. */
export const RULES = [
  // A text that cannot be read.
  "input-too-large",
  "input-not-text",
  "input-empty",
  "yaml-syntax",
  "yaml-duplicate-key",
  "yaml-tag",
  "yaml-aliases",
  "yaml-too-deep",
  "yaml-too-many",
  // The configuration's own shape.
  "several-documents",
  "value-wrong",
  "key-unknown",
  "key-missing",
  "version-unknown",
  "queue-count",
  "name-invalid",
  "name-twice",
  "provider-missing",
  "provider-several",
  "variable-name",
  "secret-name",
  "mechanism-unknown",
  // Which workload a configuration is for.
  "manifest-not-object",
  "annotation-not-text",
  "annotation-unknown",
  "annotation-misplaced",
  "configuration-missing",
  "configuration-twice",
  "workload-missing",
  "workload-unknown",
  "workload-needed",
  "workload-kind",
  "workload-name",
  "workload-twice",
  "workload-autoscaled",
  // The workload's pod template.
  "pod-template",
  "container-needed",
  "container-unknown",
  "variable-missing",
  "variable-from-env-from",
  "variable-not-text",
  "variable-not-literal",
  "variable-empty",
  "variable-expanded",
  "source-name",
  "connection-reference",
  "connection-expanded",
  "reference-incomplete",
  "sasl-not-secret",
  "tls-secret-unused",
  "source-twice",
  "override-twice",
  "override-is-connection",
  "override-is-source",
  "override-in-use",
  "already-overridden",
] as const;

export type Rule = (typeof RULES)[number];

/** Keys and indexes, from the outermost. */
export type Path = readonly (string | number)[];

/** In a file, both from 1; the column counts UTF-16 code units. */
export interface Place {
  line: number;
  column: number;
}

export interface Issue {
  rule: Rule;
  /** The name that the text was given with. */
  file: string;
  /** null: not known. */
  place: Place | null;
  /** Whose it is, as in "Deployment/worker"; null: the configuration's, or the whole file's. */
  workload: string | null;
  /** As in "queues[0].source.env", within the configuration or the workload; "" is all of it. */
  path: string;
  message: string;
  /** What was probably meant. */
  suggestion: string | null;
}

/** More would help nobody, and rubbish could have millions. */
const MAX_ISSUES = 200;

/** Everything that is wrong, as far as it fits. */
export class Issues {
  readonly list: Issue[] = [];
  /** Found beyond those in the list. */
  left = 0;

  add(issue: Issue): void {
    if (this.list.length < MAX_ISSUES) this.list.push(issue);
    else this.left += 1;
  }

  get count(): number {
    return this.list.length + this.left;
  }
}

/** Words about what stands at a path of one text. */
export type Report = (rule: Rule, path: Path, message: string, suggestion?: string | null) => void;

const MAX_QUOTED_CHARS = 80;

/** A path in words: `spec.containers[0].env`, and in quotes what has other characters. */
export function pathText(path: Path): string {
  let text = "";
  for (const step of path) {
    if (typeof step === "number") text += `[${step}]`;
    else if (step.length > MAX_QUOTED_CHARS || !/^[A-Za-z_][\w-]*$/.test(step)) text += `[${quoted(step)}]`;
    else text += text === "" ? step : `.${step}`;
  }
  return text;
}

/** A name that somebody wrote, as a message repeats it. Never a value that may be a secret. */
export function quoted(text: string): string {
  return JSON.stringify(text.length > MAX_QUOTED_CHARS ? `${text.slice(0, MAX_QUOTED_CHARS)}…` : text);
}
