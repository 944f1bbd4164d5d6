import { describe, expect, test } from "vitest";
import { MAX_SOURCES } from "../../../../src/splitting/state/split-limits.ts";
import {
  config,
  ENV,
  envWith,
  type Given,
  KAFKA,
  manifest,
  ORDERS,
  ORDERS_TOPIC,
  queue,
  RABBITMQ,
  shown,
  validated,
} from "./manifest.ts";

const tls = config(
  queue("orders", "{ env: ORDERS_QUEUE }", `${RABBITMQ}\n  vhost: /\n  tls: { secret: mq-tls }`),
);
const sasl = `${KAFKA}
  tls: { secret: kafka }
  sasl: { mechanism: scram-sha-512, username: { env: KAFKA_USER }, password: { env: KAFKA_PASSWORD } }`;
const mounted = "volumeMounts: [{ name: tls, mountPath: /tls }]";
const scaler = (kind: string, name: string, namespace = "") =>
  `apiVersion: autoscaling/v2\nkind: HorizontalPodAutoscaler\nmetadata: { name: a${namespace} }\nspec: { scaleTargetRef: { kind: ${kind}, name: ${name} } }\n`;
const inNamespace = (namespace: string) =>
  manifest().replace("name: worker", `name: worker\n  namespace: ${namespace}`);

/** With the number of queues, where it is not one. */
const GOOD: readonly (readonly [what: string, given: Given | string, queues?: number])[] = [
  ["a queue of RabbitMQ", manifest()],
  ["a StatefulSet", manifest({ kind: "StatefulSet" })],
  ["a topic of Kafka", manifest({ config: config(ORDERS_TOPIC) })],
  ["a configuration in a file", { manifests: [manifest({ config: null })], config: config(ORDERS) }],
  ["a configuration as JSON", { manifests: [manifest({ config: null })], config: asJson() }],
  [
    "one of several workloads",
    {
      manifests: [manifest({ config: null }), manifest({ config: null, name: "web" })],
      config: config(ORDERS),
      workload: "web",
    },
  ],
  [
    "one of two kinds of a name",
    {
      manifests: [manifest({ config: null }), manifest({ config: null, kind: "StatefulSet" })],
      config: config(ORDERS),
      workload: "StatefulSet/worker",
    },
  ],
  [
    "workloads without a configuration beside it",
    { manifests: [manifest(), manifest({ config: null, name: "web", containers: "[]" })] },
  ],
  [
    "other kinds beside it",
    { manifests: ["---\n# nothing\n---\napiVersion: v1\nkind: Service\nmetadata: {}\n", manifest()] },
  ],
  ["a list", `apiVersion: v1\nkind: List\nitems:\n  - ${manifest().replaceAll("\n", "\n    ")}\n`],
  ["a byte order mark and lines of Windows", `\ufeff${manifest().replaceAll("\n", "\r\n")}`],
  [
    "a container that is named",
    manifest({ config: config(queue("orders", "{ env: ORDERS_QUEUE }", "container: worker", RABBITMQ)) }),
  ],
  [
    "init containers, which do not count",
    manifest({ podSpec: "initContainers: [{ name: a }, { name: b }]" }),
  ],
  ["the last of several values", manifest({ env: `- { name: ORDERS_QUEUE, value: $(X) }\n${ENV}` })],
  ["envFrom beside what is named", manifest({ container: "envFrom: [{ configMapRef: { name: all } }]" })],
  [
    "a variable of no interest",
    manifest({ env: `${ENV}\n- { name: IP, valueFrom: { fieldRef: { fieldPath: a } } }` }),
  ],
  ["an override that is absent", manifest({ config: config(overridden("SHADOW")) })],
  [
    "an override that is empty",
    manifest({ config: config(overridden("SHADOW")), env: `${ENV}\n- { name: SHADOW }` }),
  ],
  ["a literal URL", manifest({ env: envWith("AMQP_URL", '- { name: AMQP_URL, value: "amqp://u:p@h" }') })],
  [
    "a secret by a volume",
    manifest({
      config: tls,
      container: mounted,
      podSpec: "volumes: [{ name: tls, secret: { secretName: mq-tls } }]",
    }),
  ],
  [
    "a secret by a projected volume",
    manifest({
      config: tls,
      container: mounted,
      podSpec: "volumes: [{ name: tls, projected: { sources: [{ secret: { name: mq-tls } }] } }]",
    }),
  ],
  [
    "a secret by a variable, and SASL",
    manifest({ config: config(queue("orders", "{ env: ORDERS_QUEUE }", sasl)) }),
  ],
  ["a secret by envFrom", manifest({ config: tls, container: "envFrom: [{ secretRef: { name: mq-tls } }]" })],
  [
    "annotations of others on the pods",
    manifest({ podMetadata: "annotations: { example.com/queue-config: x }" }),
  ],
  ["annotations that are null", manifest({ podMetadata: "annotations:" })],
  [
    "an autoscaler of another",
    { manifests: [manifest(), scaler("Deployment", "web"), scaler("StatefulSet", "worker")] },
  ],
  [
    "an autoscaler in another namespace",
    { manifests: [inNamespace("a"), scaler("Deployment", "worker", ", namespace: b")] },
  ],
  ["the same name in two namespaces", { manifests: [inNamespace("a"), inNamespace("b")] }, 2],
  [
    "two queues, which share connections",
    manifest({
      config: config(ORDERS, queue("more", "{ env: MORE, overrideEnv: MORE_SHADOW }", RABBITMQ)),
      env: `${ENV}\n- { name: MORE, value: more }`,
    }),
    2,
  ],
  [
    "anchors and merges in the manifest",
    manifest({
      env: ENV.replace(
        "- { name: ORDERS_QUEUE, value: orders }",
        "- &o { name: X, value: orders }\n- { <<: *o, name: ORDERS_QUEUE }",
      ),
    }),
  ],
  ["the most queues", manifest(most()), MAX_SOURCES],
];

describe("nothing is wrong with", () => {
  test.each(GOOD.map(([what, given, queues = 1]) => ({ what, given, queues })))(
    "$what",
    ({ given, queues }) => {
      const validation = validated(typeof given === "string" ? { manifests: [given] } : given);
      expect(validation.issues.map(shown)).toEqual([]);
      expect(validation.workloads.flatMap((one) => one.queues)).toHaveLength(queues);
      expect(validation.workloads.every(({ valid }) => valid)).toBe(true);
    },
  );
});

function overridden(name: string): string {
  return queue("orders", `{ env: ORDERS_QUEUE, overrideEnv: ${name} }`, RABBITMQ);
}

function asJson(): string {
  const [url, managementUrl] = [{ env: "AMQP_URL" }, { env: "RABBITMQ_URL" }];
  const orders = { name: "orders", source: { env: "ORDERS_QUEUE" }, rabbitmq: { url, managementUrl } };
  return JSON.stringify({ version: 1, queues: [orders] }, null, "\t");
}

function most(): { config: string; env: string } {
  const names = Array.from({ length: MAX_SOURCES }, (_, index) => `q${index}`);
  return {
    config: config(...names.map((name) => queue(name, `{ env: ${name} }`, RABBITMQ))),
    env: [ENV, ...names.map((name) => `- { name: ${name}, value: ${name} }`)].join("\n"),
  };
}
