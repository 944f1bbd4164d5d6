import { type BadWorkload, bad } from "./bad-workload.ts";
import { config, ENV, envWith, KAFKA, manifest, ORDERS, ORDERS_TOPIC, queue, RABBITMQ } from "./manifest.ts";

const CONTAINER = "spec.template.spec.containers[0]";
const withConfig = (...queues: string[]) => manifest({ config: config(...queues) });
const withSource = (entry: string) => manifest({ env: envWith("ORDERS_QUEUE", entry) });
const withUrl = (entry: string) => manifest({ env: envWith("AMQP_URL", entry) });
const overriddenBy = (name: string) =>
  queue("orders", `{ env: ORDERS_QUEUE, overrideEnv: ${name} }`, RABBITMQ);
const sasl = `${KAFKA}
  sasl: { mechanism: plain, username: { env: KAFKA_USER }, password: { env: KAFKA_PASSWORD } }`;

const VARIABLES: readonly BadWorkload[] = [
  bad(
    "variable-missing",
    "a misspelt variable",
    withSource("- { name: ORDER_QUEUE, value: o }"),
    "queues[0].source.env",
    "ORDER_QUEUE",
  ),
  bad(
    "variable-from-env-from",
    "a variable from elsewhere",
    manifest({
      env: envWith("AMQP_URL", "- { name: X }"),
      container: "envFrom: [{ secretRef: { name: all } }]",
    }),
    "queues[0].rabbitmq.url.env",
  ),
  bad(
    "variable-not-text",
    "a number",
    withSource("- { name: ORDERS_QUEUE, value: 12 }"),
    `${CONTAINER}.env[0].value`,
  ),
  bad(
    "variable-not-text",
    "YAML 1.1's yes",
    withSource("- { name: ORDERS_QUEUE, value: yes }"),
    `${CONTAINER}.env[0].value`,
  ),
  bad(
    "variable-not-literal",
    "a source from a config map",
    withSource("- { name: ORDERS_QUEUE, valueFrom: { configMapKeyRef: { name: a, key: b } } }"),
    `${CONTAINER}.env[0].valueFrom`,
  ),
  bad(
    "variable-not-literal",
    "a literal and then a reference",
    manifest({ env: `${ENV}\n- { name: ORDERS_QUEUE, valueFrom: { secretKeyRef: { name: a, key: b } } }` }),
    `${CONTAINER}.env[7].valueFrom`,
  ),
  bad(
    "variable-empty",
    "an empty source",
    withSource('- { name: ORDERS_QUEUE, value: "" }'),
    `${CONTAINER}.env[0].value`,
  ),
  bad(
    "variable-empty",
    "a source without a value",
    withSource("- { name: ORDERS_QUEUE }"),
    `${CONTAINER}.env[0].value`,
  ),
  bad(
    "variable-empty",
    "an empty duplicate, which counts",
    manifest({ env: `${ENV}\n- { name: ORDERS_QUEUE, value: "" }` }),
    `${CONTAINER}.env[7].value`,
  ),
  bad(
    "variable-expanded",
    "a source made of another variable",
    withSource('- { name: ORDERS_QUEUE, value: "$(STAGE)-orders" }'),
    `${CONTAINER}.env[0].value`,
  ),
  bad(
    "variable-expanded",
    "a group made of another variable",
    manifest({
      config: config(ORDERS_TOPIC),
      env: envWith("ORDERS_GROUP", '- { name: ORDERS_GROUP, value: "$(STAGE)" }'),
    }),
    `${CONTAINER}.env[4].value`,
  ),
  bad(
    "source-name",
    "a name too long for a broker",
    withSource(`- { name: ORDERS_QUEUE, value: ${"o".repeat(256)} }`),
    `${CONTAINER}.env[0].value`,
  ),
  bad(
    "source-name",
    "a line feed",
    withSource('- { name: ORDERS_QUEUE, value: "a\\nb" }'),
    `${CONTAINER}.env[0].value`,
  ),
];

const CONNECTIONS: readonly BadWorkload[] = [
  bad(
    "connection-reference",
    "a field of the pod",
    withUrl("- { name: AMQP_URL, valueFrom: { fieldRef: { fieldPath: status.hostIP } } }"),
    `${CONTAINER}.env[1].valueFrom`,
  ),
  bad(
    "connection-reference",
    "a resource",
    withUrl("- { name: AMQP_URL, valueFrom: { resourceFieldRef: { resource: limits.cpu } } }"),
    `${CONTAINER}.env[1].valueFrom`,
  ),
  bad(
    "connection-reference",
    "nothing",
    withUrl("- { name: AMQP_URL, valueFrom: {} }"),
    `${CONTAINER}.env[1].valueFrom`,
  ),
  bad(
    "connection-reference",
    "two at once",
    withUrl("- { name: AMQP_URL, value: x, valueFrom: { secretKeyRef: { name: a, key: b } } }"),
    `${CONTAINER}.env[1].valueFrom`,
  ),
  bad(
    "connection-expanded",
    "a URL made of others",
    withUrl('- { name: AMQP_URL, value: "amqp://$(USER):$(PASSWORD)@rabbitmq" }'),
    `${CONTAINER}.env[1].value`,
  ),
  bad(
    "reference-incomplete",
    "no key",
    withUrl("- { name: AMQP_URL, valueFrom: { secretKeyRef: { name: a } } }"),
    `${CONTAINER}.env[1].valueFrom`,
  ),
  bad(
    "sasl-not-secret",
    "a password in the manifest",
    manifest({
      config: config(queue("orders", "{ env: ORDERS_QUEUE }", sasl)),
      env: envWith("KAFKA_PASSWORD", "- { name: KAFKA_PASSWORD, value: hunter2 }"),
    }),
    `${CONTAINER}.env[6]`,
  ),
  bad(
    "sasl-not-secret",
    "a password in a config map",
    manifest({
      config: config(queue("orders", "{ env: ORDERS_QUEUE }", sasl)),
      env: envWith(
        "KAFKA_PASSWORD",
        "- { name: KAFKA_PASSWORD, valueFrom: { configMapKeyRef: { name: a, key: b } } }",
      ),
    }),
    `${CONTAINER}.env[6]`,
  ),
  bad(
    "source-twice",
    "two queues of one variable",
    withConfig(ORDERS, queue("again", "{ env: ORDERS_QUEUE, overrideEnv: AGAIN }", RABBITMQ)),
    "queues[1].source.env",
  ),
  bad(
    "override-twice",
    "two queues with one override",
    withConfig(
      overriddenBy("SHADOW"),
      queue("groups", "{ env: ORDERS_GROUP, overrideEnv: SHADOW }", RABBITMQ),
    ),
    "queues[1].source.overrideEnv",
  ),
  bad(
    "override-is-connection",
    "the URL as the source",
    manifest({
      config: config(queue("orders", "{ env: AMQP_URL }", RABBITMQ)),
      env: envWith("AMQP_URL", "- { name: AMQP_URL, value: amqp }"),
    }),
    "queues[0].source.env",
  ),
  {
    ...bad(
      "override-is-source",
      "another queue's variable overridden",
      withConfig(
        queue("groups", "{ env: ORDERS_GROUP, overrideEnv: NEW_GROUP }", RABBITMQ),
        overriddenBy("ORDERS_GROUP"),
      ),
      "queues[1].source.overrideEnv",
    ),
    also: ["override-in-use"],
  },
  bad(
    "override-in-use",
    "an override that has a value",
    manifest({ config: config(overriddenBy("SHADOW")), env: `${ENV}\n- { name: SHADOW, value: other }` }),
    `${CONTAINER}.env[7]`,
  ),
  bad(
    "override-in-use",
    "an override from a config map",
    manifest({
      config: config(overriddenBy("SHADOW")),
      env: `${ENV}\n- { name: SHADOW, valueFrom: { configMapKeyRef: { name: a, key: b } } }`,
    }),
    `${CONTAINER}.env[7]`,
  ),
];

/** Workloads with one mistake each in their variables. */
export const BAD_VARIABLES: readonly BadWorkload[] = [...VARIABLES, ...CONNECTIONS];
