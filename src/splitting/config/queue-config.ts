/**
 * Which queues of a workload can be split, as its developers declare it beside the workload. It names variables and
 * secrets of a container, and holds no value of any.
 *
 * ```yaml
 * version: 1
 * queues:
 *   - name: orders                      # an RFC 1123 label, unique in the workload
 *     container: worker                 # needed where the pod has more than one
 *     source:
 *       env: ORDERS_QUEUE               # the variable that names the queue or topic; its value must be literal
 *       overrideEnv: ORDERS_QUEUE_OVERRIDE  # the variable that takes the shadow's name; the source's own if absent
 *     rabbitmq:                         # exactly one of rabbitmq and kafka
 *       url: { env: AMQP_URL }
 *       managementUrl: { env: RABBITMQ_MANAGEMENT_URL }
 *       vhost: /                        # that of the URL if absent
 *       tls: { secret: rabbitmq-tls }   # a secret that the container uses already
 *   - name: payments
 *     container: worker
 *     source: { env: PAYMENTS_TOPIC }
 *     kafka:
 *       bootstrapServers: { env: KAFKA_BROKERS }
 *       group: { env: PAYMENTS_GROUP }  # with overrideEnv like a source: on its shadow the application has another group
 *       tls: { secret: kafka-tls }
 *       sasl:
 *         mechanism: scram-sha-512      # or scram-sha-256, plain
 *         username: { env: KAFKA_USERNAME }
 *         password: { env: KAFKA_PASSWORD }   # must come from a secret
 * ```
 */
export interface QueueConfig {
  /** Its place in the list, from 0. */
  index: number;
  /** An RFC 1123 label, unique in the workload. */
  name: string;
  /** null: the pod's only container. */
  container: string | null;
  source: OverridableVariable;
  broker: RabbitmqConfig | KafkaConfig;
}

/** A variable by which the application finds its source, and the one that leads it to its shadow instead. */
export interface OverridableVariable {
  env: string;
  /** The same as `env` where nothing else is said. */
  overrideEnv: string;
}

export interface RabbitmqConfig {
  provider: "rabbitmq";
  urlEnv: string;
  managementUrlEnv: string;
  /** null: that of the URL. */
  vhost: string | null;
  /** Name of the secret; null: no TLS, or the system's authorities. */
  tlsSecret: string | null;
}

export interface KafkaConfig {
  provider: "kafka";
  bootstrapServersEnv: string;
  group: OverridableVariable;
  tlsSecret: string | null;
  sasl: SaslConfig | null;
}

export const SASL_MECHANISMS = ["plain", "scram-sha-256", "scram-sha-512"] as const;

export interface SaslConfig {
  mechanism: (typeof SASL_MECHANISMS)[number];
  usernameEnv: string;
  passwordEnv: string;
}

/** A variable that says how the broker is reached. */
export interface ConnectionVariable {
  env: string;
  /** Where the queue's configuration names it. */
  path: readonly string[];
  /** It is a secret, and must come from one. */
  secret: boolean;
}

export function connectionVariables({ broker }: QueueConfig): ConnectionVariable[] {
  const variable = (env: string, key: readonly string[], secret = false): ConnectionVariable => ({
    env,
    path: [broker.provider, ...key, "env"],
    secret,
  });
  if (broker.provider === "rabbitmq") {
    return [variable(broker.urlEnv, ["url"]), variable(broker.managementUrlEnv, ["managementUrl"])];
  }
  const servers = variable(broker.bootstrapServersEnv, ["bootstrapServers"]);
  if (broker.sasl === null) return [servers];
  return [
    servers,
    variable(broker.sasl.usernameEnv, ["sasl", "username"]),
    variable(broker.sasl.passwordEnv, ["sasl", "password"], true),
  ];
}

/** A variable that a split overrides, and where the queue's configuration names it. */
export interface NamingVariable extends OverridableVariable {
  role: "source" | "group";
  path: readonly string[];
}

export function namingVariables({ source, broker }: QueueConfig): NamingVariable[] {
  const named: NamingVariable[] = [{ ...source, role: "source", path: ["source"] }];
  if (broker.provider === "kafka") named.push({ ...broker.group, role: "group", path: ["kafka", "group"] });
  return named;
}
