import { describe, expect, test } from "vitest";
import {
  config,
  ENV,
  envWith,
  indented,
  KAFKA,
  manifest,
  queue,
  RABBITMQ,
  shown,
  validated,
} from "./manifest.ts";
import { RUBBISH } from "./rubbish.ts";

const MANY_MISTAKES = `version: 1
queus:
  - name: Orders
    source: { env: ORDER_QUEUE }
    rabbitmq:
      url: { env: AMQP_URL }
      managementURL: { env: RABBITMQ_URL }
  - name: groups
    container: wroker
    source: { evn: ORDERS_GROUP }
    kafka:
      bootstrapServers: { env: KAFKA_BROKERS }
      group: { env: ORDERS_GROUP }
      sasl: { mechanism: scram, username: { env: KAFKA_USER } }
  - source: { env: KAFKA_USER }
`;

describe("everything wrong is told at once", () => {
  test("of the configuration and of the workload, in the order of the file, with what was meant", () => {
    const env = envWith("AMQP_URL", "- { name: AMQP_URL, valueFrom: { fieldRef: { fieldPath: a } } }");
    const { issues, left, workloads } = validated({ manifests: [manifest({ config: MANY_MISTAKES, env })] });
    expect(issues.map(shown)).toEqual([
      "key-unknown app.yaml:8 queus → queues",
      "name-invalid app.yaml:9 queus[0].name → orders",
      "variable-missing app.yaml:10 queus[0].source.env → ORDERS_QUEUE",
      "key-unknown app.yaml:13 queus[0].rabbitmq.managementURL → managementUrl",
      "container-unknown app.yaml:15 queus[1].container → worker",
      "key-unknown app.yaml:16 queus[1].source.evn → env",
      "key-missing app.yaml:20 queus[1].kafka.sasl",
      "mechanism-unknown app.yaml:20 queus[1].kafka.sasl.mechanism",
      "key-missing app.yaml:21 queus[2]",
      "provider-missing app.yaml:21 queus[2]",
      "connection-reference app.yaml:32 spec.template.spec.containers[0].env[1].valueFrom",
    ]);
    expect(left).toBe(0);
    expect(workloads.map(({ valid }) => valid)).toEqual([false]);
  });

  test("of several workloads, files and documents", () => {
    const broken = "apiVersion: v1\nkind: [\n";
    const { issues } = validated({
      manifests: [
        `${manifest({ config: config(queue("a", "{ env: A }", RABBITMQ)) })}---\n${broken}`,
        manifest({ name: "web", config: config(queue("b", "{ env: B }", KAFKA)) }),
      ],
    });
    expect(issues.map(({ rule, file, workload }) => [rule, file, workload])).toEqual([
      ["variable-missing", "app.yaml", "Deployment/worker"],
      ["yaml-syntax", "app.yaml", null],
      ["variable-missing", "1.yaml", "Deployment/web"],
    ]);
  });

  test("as far as anybody would read, with the number of the others", () => {
    const keys = Array.from({ length: 500 }, (_, index) => `k${index}: 1`).join("\n");
    const { issues, left } = validated({ manifests: [manifest({ config: keys })] });
    expect(issues).toHaveLength(200);
    // And two keys are missing.
    expect(left).toBe(302);
  });
});

describe("places", () => {
  const wrong = config(queue("orders", "{ env: NO_QUEUE }", RABBITMQ));
  const placeOf = (text: string) => {
    const [issue] = validated({ manifests: [text] }).issues;
    return [issue?.rule, issue?.place?.line, issue?.place?.column];
  };

  test("are those of the file where the annotation is a literal block", () => {
    const text = manifest({ config: wrong });
    const line = text.split("\n").findIndex((one) => one.includes("NO_QUEUE"));
    const column = text.split("\n")[line]?.indexOf("env:");
    expect(placeOf(text)).toEqual(["variable-missing", line + 1, (column ?? 0) + 1]);
    expect(placeOf(text.replaceAll("\n", "\r\n"))).toEqual(placeOf(text));
    expect(placeOf(text.replace("queue-config: |", "queue-config: |-2 # its own"))).toEqual(placeOf(text));
    const blank = text.replace("queue-config: |\n", "queue-config: |\n\n");
    expect(placeOf(blank)).toEqual(["variable-missing", line + 2, (column ?? 0) + 1]);
  });

  test("are that of the annotation where it is written otherwise", () => {
    const quoted = manifest({
      config: null,
      annotations: `fairlane.dev/queue-config: ${JSON.stringify(wrong)}`,
    });
    expect(placeOf(quoted)).toEqual(["variable-missing", 6, 5]);
    const folded = manifest({
      config: null,
      annotations: `fairlane.dev/queue-config: >\n${indented(wrong.replaceAll("\n", "\n\n"), 2)}`,
    });
    expect(placeOf(folded)).toEqual(["variable-missing", 6, 5]);
  });

  test("of what an alias brings are those of its anchor", () => {
    const env = `- &o { name: ORDERS_QUEUE, value: "$(A)" }\n${ENV.split("\n").slice(1).join("\n")}\n- *o`;
    const text = manifest({ env });
    const line = text.split("\n").findIndex((one) => one.includes("&o")) + 1;
    expect(placeOf(text).slice(0, 2)).toEqual(["variable-expanded", line]);
  });
});

describe("what is no manifest and no configuration is refused, and soon", () => {
  test.each(RUBBISH)("%s", (_what, bytes, rules) => {
    const asManifest = validated({ manifests: [bytes] });
    expect(asManifest.issues.map(({ rule }) => rule)).toEqual(rules);
    const asConfig = validated({ manifests: [manifest({ config: null })], config: bytes });
    expect(asConfig.issues.length).toBeGreaterThan(0);
    expect(asConfig.workloads.filter(({ valid }) => valid)).toEqual([]);
  });

  test("more workloads than are compared with each other", () => {
    const items = Array.from(
      { length: 1001 },
      (_, index) => `{ apiVersion: apps/v1, kind: Deployment, metadata: { name: w${index} } }`,
    );
    const { issues } = validated({
      manifests: [manifest(), `apiVersion: v1\nkind: List\nitems: [${items.join(", ")}]\n`],
    });
    expect(issues.map(({ rule, workload }) => [rule, workload])).toEqual([
      ["yaml-too-many", "Deployment/w999"],
      ["yaml-too-many", "Deployment/w1000"],
    ]);
  });

  test("a manifest of many keys is read in time that grows with it alone", { timeout: 10_000 }, () => {
    const keys = Array.from({ length: 30_000 }, (_, index) => `  k${index}: v`).join("\n");
    const big = `apiVersion: v1\nkind: ConfigMap\nmetadata: { name: big }\ndata:\n${keys}\n`;
    expect(validated({ manifests: [big, manifest()] }).issues).toEqual([]);
  });
});
