import { MAX_SOURCES } from "../state/split-limits.ts";
import { ConfigField, type Misspelt, pathInText } from "./config-field.ts";
import { labelCheck, mechanismCheck, secretCheck, variableCheck, vhostCheck } from "./config-names.ts";
import { type Issues, type Path, type Place, pathText, quoted, type Report } from "./issue.ts";
import type {
  KafkaConfig,
  OverridableVariable,
  QueueConfig,
  RabbitmqConfig,
  SaslConfig,
} from "./queue-config.ts";
import { readYaml } from "./read-yaml.ts";

/** A configuration's text, and where it is from. */
export interface ConfigText {
  text: string;
  file: string;
  workload: string | null;
  /** The place in the file of one in the text. */
  placeIn: (place: Place) => Place;
}

/** A configuration, with what later checks have to say of it. */
export interface ParsedConfig {
  /** Those whose own declaration is whole: where something was told of the others, they are looked at all the same. */
  queues: QueueConfig[];
  report: Report;
}

const VERSION = 1;

/** Reads a configuration's own shape. Everything wrong with it is added to `issues`. */
export function parseConfig(source: ConfigText, issues: Issues): ParsedConfig {
  const { file, workload, placeIn } = source;
  const before = issues.count;
  const documents = readYaml(source.text, "1.2", (rule, place, message) =>
    issues.add({ rule, file, place: placeIn(place), workload, path: "", message, suggestion: null }),
  );
  const [document, another] = documents;
  const misspelt: Misspelt = new Map();
  const report: Report = (rule, meant, message, suggestion = null) => {
    const path = pathInText(meant, misspelt);
    const place = document ? placeIn(document.placeOf(path)) : null;
    issues.add({ rule, file, place, workload, path: pathText(path), message, suggestion });
  };
  if (another) report("several-documents", [], "must be one document, and has several");
  if (!document) {
    if (issues.count === before) report("input-empty", [], "the configuration is empty");
    return { queues: [], report };
  }
  return { queues: queuesOf(new ConfigField(document.value, [], report, misspelt)), report };
}

function queuesOf(field: ConfigField): QueueConfig[] {
  const fields = field.record(["version", "queues"]);
  if (!fields) return [];
  const { version, queues } = fields;
  if (version && version.value !== VERSION) version.say("version-unknown", `must be ${VERSION}`);
  const items = queues?.list();
  if (!items || !queues) return [];
  if (items.length === 0) queues.say("queue-count", "must name a queue");
  if (items.length > MAX_SOURCES) {
    queues.say("queue-count", `must name at most ${MAX_SOURCES} queues, and names ${items.length}`);
  }
  const read = items.slice(0, MAX_SOURCES).map(queueOf);
  const names = new Map<string, Path>();
  for (const { name, path } of read) {
    if (name === null) continue;
    const first = names.get(name.text);
    if (first) name.field.say("name-twice", `${quoted(name.text)} is the name of ${pathText(first)} as well`);
    else names.set(name.text, path);
  }
  return read.flatMap(({ queue }) => queue ?? []);
}

interface ReadQueue {
  path: Path;
  name: { text: string; field: ConfigField } | null;
  /** null: it says too little. */
  queue: QueueConfig | null;
}

function queueOf(item: ConfigField, index: number): ReadQueue {
  const { path } = item;
  const fields = item.record(["name", "source"], ["container", "rabbitmq", "kafka"]);
  if (!fields) return { path, name: null, queue: null };
  const text = fields.name?.text(labelCheck) ?? null;
  const name = fields.name && text !== null ? { text, field: fields.name } : null;
  const container = fields.container?.text(labelCheck) ?? null;
  const source = overridableOf(fields.source);
  const broker = brokerOf(item, fields.rabbitmq, fields.kafka);
  const queue = source && broker && { index, name: text ?? pathText(path), container, source, broker };
  return { path, name, queue };
}

/** Exactly one block; of several each is looked at. */
function brokerOf(
  queue: ConfigField,
  rabbitmq: ConfigField | undefined,
  kafka: ConfigField | undefined,
): QueueConfig["broker"] | null {
  const blocks = [rabbitmq && rabbitmqOf(rabbitmq), kafka && kafkaOf(kafka)];
  if (rabbitmq && kafka)
    return queue.say("provider-several", "has both rabbitmq and kafka, and must have one");
  if (!rabbitmq && !kafka) return queue.say("provider-missing", "must have one of rabbitmq and kafka");
  return blocks.find((block) => block) ?? null;
}

function rabbitmqOf(field: ConfigField): RabbitmqConfig | null {
  const fields = field.record(["url", "managementUrl"], ["vhost", "tls"]);
  if (!fields) return null;
  const urlEnv = variableOf(fields.url);
  const managementUrlEnv = variableOf(fields.managementUrl);
  const vhost = fields.vhost?.text(vhostCheck) ?? null;
  const tlsSecret = tlsSecretOf(fields.tls);
  if (urlEnv === null || managementUrlEnv === null) return null;
  return { provider: "rabbitmq", urlEnv, managementUrlEnv, vhost, tlsSecret };
}

function kafkaOf(field: ConfigField): KafkaConfig | null {
  const fields = field.record(["bootstrapServers", "group"], ["tls", "sasl"]);
  if (!fields) return null;
  const bootstrapServersEnv = variableOf(fields.bootstrapServers);
  const group = overridableOf(fields.group);
  const tlsSecret = tlsSecretOf(fields.tls);
  const sasl = saslOf(fields.sasl);
  if (bootstrapServersEnv === null || group === null) return null;
  return { provider: "kafka", bootstrapServersEnv, group, tlsSecret, sasl };
}

function saslOf(field: ConfigField | undefined): SaslConfig | null {
  const fields = field?.record(["mechanism", "username", "password"]);
  if (!fields) return null;
  const mechanism = fields.mechanism?.text(mechanismCheck) as SaslConfig["mechanism"] | null | undefined;
  const usernameEnv = variableOf(fields.username);
  const passwordEnv = variableOf(fields.password);
  if (!mechanism || usernameEnv === null || passwordEnv === null) return null;
  return { mechanism, usernameEnv, passwordEnv };
}

/** `{ env: NAME }`. */
function variableOf(field: ConfigField | undefined): string | null {
  return field?.record(["env"])?.env?.text(variableCheck) ?? null;
}

/** `{ env: NAME, overrideEnv?: NAME }`. */
function overridableOf(field: ConfigField | undefined): OverridableVariable | null {
  const fields = field?.record(["env"], ["overrideEnv"]);
  const env = fields?.env?.text(variableCheck) ?? null;
  const overrideEnv = fields?.overrideEnv ? fields.overrideEnv.text(variableCheck) : env;
  return env === null || overrideEnv === null ? null : { env, overrideEnv };
}

/** `{ secret: NAME }`. */
function tlsSecretOf(field: ConfigField | undefined): string | null {
  return field?.record(["secret"])?.secret?.text(secretCheck) ?? null;
}
