import type { Rule } from "../../../../src/splitting/config/issue.ts";
import { config, KAFKA, ORDERS, queue, RABBITMQ } from "./manifest.ts";

export interface BadConfig {
  rule: Rule;
  what: string;
  text: string;
  /** Of the one issue. */
  path: string;
  line: number;
  suggestion?: string;
  /** What follows of it. */
  also?: readonly Rule[];
}

const bad = (
  rule: Rule,
  what: string,
  text: string,
  [line, path = ""]: readonly [number, string?],
  suggestion?: string,
): BadConfig => ({ rule, what, text, path, line, ...(suggestion === undefined ? {} : { suggestion }) });

const source = "{ env: ORDERS_QUEUE }";
const sasl = (mechanism: string) =>
  `${KAFKA}\n  sasl: { mechanism: ${mechanism}, username: { env: KAFKA_USER }, password: { env: KAFKA_PASSWORD } }`;

/** Configurations with one mistake each. */
export const BAD_CONFIGS: readonly BadConfig[] = [
  bad("yaml-syntax", "a tab", "version: 1\nqueues:\n\t- name: orders\n", [3]),
  bad("yaml-syntax", "an open bracket", 'version: 1\nqueues: [{ name: "orders"\n', [3]),
  {
    ...bad("yaml-syntax", "an alias of nothing", config(queue("orders", "*nowhere", RABBITMQ)), [4]),
    also: ["value-wrong"],
  },
  bad("yaml-syntax", "a key that is a list", `${config(ORDERS)}? [a]\n: b\n`, [8]),
  bad("yaml-duplicate-key", "a key twice", `${config(ORDERS)}version: 1\n`, [8]),
  {
    ...bad("yaml-tag", "a tag of another program", config(ORDERS).replace("1", "!secret 1"), [1]),
    also: ["version-unknown"],
  },
  bad("several-documents", "two documents", `${config(ORDERS)}---\n${config(ORDERS)}`, [1]),
  bad("value-wrong", "a list as the whole", "- version: 1\n", [1]),
  bad("value-wrong", "a text as the list of queues", "version: 1\nqueues: orders\n", [2, "queues"]),
  bad("value-wrong", "nothing as a queue", "version: 1\nqueues:\n  -\n", [3, "queues[0]"]),
  bad("value-wrong", "a number as a name", config(queue("12", source, RABBITMQ)), [3, "queues[0].name"]),
  bad("value-wrong", "an empty block", config(queue("orders", source, "kafka:")), [5, "queues[0].kafka"]),
  bad("value-wrong", "an empty vhost", config(queue("orders", source, `${RABBITMQ}\n  vhost: ""`)), [
    8,
    "queues[0].rabbitmq.vhost",
  ]),
  bad(
    "key-unknown",
    "a misspelt key",
    config(ORDERS).replace("managementUrl", "managment_url"),
    [7, "queues[0].rabbitmq.managment_url"],
    "managementUrl",
  ),
  bad("key-unknown", "a key like no other", `${config(ORDERS)}replicas: 3\n`, [8, "replicas"]),
  bad("key-unknown", "a prototype's name", `${config(ORDERS)}__proto__: {}\n`, [8, "__proto__"]),
  bad("key-unknown", "a merge", `${config(ORDERS)}<<: {}\n`, [8, '["<<"]']),
  bad(
    "key-unknown",
    "a secret in place of its name",
    config(queue("orders", source, `${KAFKA}\n  password: x`)),
    [8, "queues[0].kafka.password"],
  ),
  bad("key-missing", "no version", config(ORDERS).replace("version: 1\n", ""), [1]),
  bad("key-missing", "no queues", "version: 1\n", [1]),
  bad(
    "key-missing",
    "a queue without a source",
    `version: 1\nqueues:\n  - name: orders\n    kafka: ${flow(KAFKA)}\n`,
    [3, "queues[0]"],
  ),
  bad("key-missing", "a variable without a name", config(queue("orders", "{}", RABBITMQ)), [
    4,
    "queues[0].source",
  ]),
  bad("version-unknown", "a version to come", config(ORDERS).replace("1", "2"), [1, "version"]),
  bad("version-unknown", "a version as a text", config(ORDERS).replace("1", '"1"'), [1, "version"]),
  bad("queue-count", "no queue", "version: 1\nqueues: []\n", [2, "queues"]),
  bad(
    "queue-count",
    "more queues than a split has",
    config(
      ...Array.from(
        { length: 17 },
        (_, i) => `  - { name: q${i}, source: { env: Q${i} }, kafka: ${flow(KAFKA, i)} }`,
      ),
    ),
    [2, "queues"],
  ),
  bad(
    "name-invalid",
    "capitals",
    config(queue("Orders_New", source, RABBITMQ)),
    [3, "queues[0].name"],
    "orders-new",
  ),
  bad(
    "name-invalid",
    "a dash at its end",
    config(queue("orders-", source, RABBITMQ)),
    [3, "queues[0].name"],
    "orders",
  ),
  bad(
    "name-invalid",
    "over 63 characters",
    config(queue("o".repeat(64), source, RABBITMQ)),
    [3, "queues[0].name"],
    "o".repeat(63),
  ),
  bad("name-invalid", "nothing", config(queue('""', source, RABBITMQ)), [3, "queues[0].name"]),
  bad(
    "name-invalid",
    "a container's name",
    config(queue("orders", source, "container: Worker", RABBITMQ)),
    [5, "queues[0].container"],
    "worker",
  ),
  bad(
    "name-twice",
    "two queues of one name",
    config(ORDERS, queue("orders", "{ env: OTHER_QUEUE }", RABBITMQ)),
    [8, "queues[1].name"],
  ),
  bad("provider-missing", "no broker", config(queue("orders", source)), [3, "queues[0]"]),
  bad("provider-several", "two brokers", config(queue("orders", source, RABBITMQ, KAFKA)), [3, "queues[0]"]),
  bad(
    "variable-name",
    "a reference in place of a name",
    config(queue("orders", '{ env: "$(ORDERS_QUEUE)" }', RABBITMQ)),
    [4, "queues[0].source.env"],
    "ORDERS_QUEUE",
  ),
  bad(
    "variable-name",
    "a URL in place of a name",
    config(ORDERS).replace("AMQP_URL", '"amqp://me:hunter2@rabbitmq"'),
    [6, "queues[0].rabbitmq.url.env"],
  ),
  bad(
    "variable-name",
    "an override that is none",
    config(queue("orders", '{ env: ORDERS_QUEUE, overrideEnv: "" }', RABBITMQ)),
    [4, "queues[0].source.overrideEnv"],
  ),
  bad(
    "secret-name",
    "a certificate in place of a name",
    config(queue("orders", source, `${RABBITMQ}\n  tls: { secret: "-----BEGIN hunter2" }`)),
    [8, "queues[0].rabbitmq.tls.secret"],
  ),
  bad(
    "mechanism-unknown",
    "a misspelt mechanism",
    config(queue("orders", source, sasl("SCRAM-SHA-512"))),
    [8, "queues[0].kafka.sasl.mechanism"],
    "scram-sha-512",
  ),
  bad("mechanism-unknown", "another mechanism", config(queue("orders", source, sasl("gssapi"))), [
    8,
    "queues[0].kafka.sasl.mechanism",
  ]),
];

/** A block on one line; with an index, with a group of its own. */
function flow(block: string, index?: number): string {
  const [, ...lines] = block.split("\n");
  const text = `{ ${lines.map((line) => line.trim()).join(", ")} }`;
  return index === undefined ? text : text.replace("ORDERS_GROUP", `GROUP_${index}`);
}
