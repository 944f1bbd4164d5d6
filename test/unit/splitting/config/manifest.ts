import type { Issue } from "../../../../src/splitting/config/issue.ts";
import { type Validation, validate } from "../../../../src/splitting/config/validate.ts";

/** A manifest as its author would write it: valid but for what a test changes. */
export interface ManifestParts {
  kind?: string;
  apiVersion?: string;
  name?: string;
  /** null: the workload carries none. */
  config?: string | null;
  /** Entries of metadata.annotations beside it. */
  annotations?: string;
  podMetadata?: string;
  env?: string;
  /** What else the container has, indented as its own keys. */
  container?: string;
  containers?: string;
  podSpec?: string;
}

export const RABBITMQ = `rabbitmq:
  url: { env: AMQP_URL }
  managementUrl: { env: RABBITMQ_URL }`;

export const KAFKA = `kafka:
  bootstrapServers: { env: KAFKA_BROKERS }
  group: { env: ORDERS_GROUP }`;

/** A queue of a configuration; `source` and `more` are YAML. */
export function queue(name: string, source: string, ...more: string[]): string {
  const lines = [`name: ${name}`, `source: ${source}`, ...more].join("\n").split("\n");
  return lines.map((line, index) => `${index === 0 ? "  - " : "    "}${line}`).join("\n");
}

export function config(...queues: string[]): string {
  return `version: 1\nqueues:\n${queues.join("\n")}\n`;
}

export const ORDERS = queue("orders", "{ env: ORDERS_QUEUE }", RABBITMQ);
export const ORDERS_TOPIC = queue("orders", "{ env: ORDERS_QUEUE }", KAFKA);

export const ENV = `- { name: ORDERS_QUEUE, value: orders }
- { name: AMQP_URL, valueFrom: { secretKeyRef: { name: rabbitmq, key: url } } }
- { name: RABBITMQ_URL, valueFrom: { configMapKeyRef: { name: rabbitmq, key: management } } }
- { name: KAFKA_BROKERS, value: "kafka:9092" }
- { name: ORDERS_GROUP, value: orders-worker }
- { name: KAFKA_USER, value: worker }
- { name: KAFKA_PASSWORD, valueFrom: { secretKeyRef: { name: kafka, key: password } } }`;

/** `ENV` with one variable written otherwise. */
export function envWith(name: string, entry: string): string {
  return ENV.split("\n")
    .map((line) => (line.includes(`name: ${name},`) ? entry : line))
    .join("\n");
}

export function manifest({
  kind = "Deployment",
  apiVersion = "apps/v1",
  name = "worker",
  config: text = config(ORDERS),
  annotations = "",
  podMetadata = "labels: { app: worker }",
  env = ENV,
  container = "",
  containers,
  podSpec = "",
}: ManifestParts = {}): string {
  const carried = text === null ? "" : `fairlane.dev/queue-config: |\n${indented(text, 2)}`;
  const all = [annotations, carried].filter((one) => one !== "").join("\n");
  return [
    `apiVersion: ${apiVersion}`,
    `kind: ${kind}`,
    "metadata:",
    `  name: ${name}`,
    ...(all === "" ? [] : [`  annotations:\n${indented(all, 4)}`]),
    "spec:",
    "  template:",
    ...(podMetadata === "" ? [] : [`    metadata:\n${indented(podMetadata, 6)}`]),
    "    spec:",
    "      containers:",
    containers === undefined
      ? [
          "        - name: worker",
          ...(env === "" ? [] : [`          env:\n${indented(env, 12)}`]),
          indented(container, 10),
        ].join("\n")
      : indented(containers, 8),
    indented(podSpec, 6),
    "",
  ].join("\n");
}

export function indented(text: string, spaces: number): string {
  return text.replace(/^(?=.)/gm, " ".repeat(spaces));
}

const encoder = new TextEncoder();

export interface Given {
  manifests: readonly (string | Uint8Array)[];
  config?: string | Uint8Array | null;
  workload?: string | null;
}

/** The validation of texts: manifests are named app.yaml, 1.yaml, 2.yaml …, a configuration queues.yaml. */
export function validated({ manifests, config: own = null, workload = null }: Given): Validation {
  const bytesOf = (text: string | Uint8Array) => (typeof text === "string" ? encoder.encode(text) : text);
  return validate({
    manifests: manifests.map((text, index) => ({
      name: index === 0 ? "app.yaml" : `${index}.yaml`,
      bytes: bytesOf(text),
    })),
    config: own === null ? null : { name: "queues.yaml", bytes: bytesOf(own) },
    workload,
  });
}

/** "rule file:line path → suggestion", for comparing. */
export function shown({ rule, file, place, path, suggestion }: Issue): string {
  const where = place === null ? file : `${file}:${place.line}`;
  return `${rule} ${where} ${path}${suggestion === null ? "" : ` → ${suggestion}`}`.trimEnd();
}
