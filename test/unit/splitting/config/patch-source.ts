import fc from "fast-check";

/** A manifest as JSON, as far as patches are about it. */
export interface Deployment {
  apiVersion: string;
  kind: string;
  metadata: { name: string; annotations: Record<string, string> };
  spec: {
    replicas: number;
    template: {
      metadata: { labels: Record<string, string>; annotations?: Record<string, string> | null };
      spec: { containers: { name: string; image?: string; env?: EnvEntry[] }[] };
    };
  };
}

export interface EnvEntry {
  name: string;
  value?: string;
  valueFrom?: unknown;
}

export interface QueueParts {
  name: string;
  env: string;
  overrideEnv?: string | undefined;
  kafka?: boolean;
  /** Entries of the source's variable that come before the one that counts. */
  earlier?: EnvEntry[];
  /** The override's variable where it is another and there. */
  override?: EnvEntry[];
  inProxy?: boolean;
}

export interface SceneParts {
  kind?: "Deployment" | "StatefulSet";
  queues?: QueueParts[];
  podAnnotations?: Record<string, string> | null | undefined;
  /** Containers before those that are split. */
  before?: number;
  /** Connections stand behind so many of the other variables. */
  after?: number;
}

const ORDERS: QueueParts = { name: "orders", env: "ORDERS_QUEUE" };

const CONNECTIONS: readonly EnvEntry[] = [
  { name: "URL", valueFrom: { secretKeyRef: { name: "broker", key: "url" } } },
  { name: "MANAGEMENT", value: "http://management:15672" },
];

export function deployment(parts: SceneParts): Deployment {
  const { kind = "Deployment", queues = [ORDERS], podAnnotations, before = 0, after = 9 } = parts;
  const envOf = (own: readonly QueueParts[]) => withConnections(own.flatMap(entriesOf), after);
  const containers = [
    ...Array.from({ length: before }, (_, index) => ({ name: `side-${index}`, image: "side" })),
    { name: "worker", image: "worker:1", env: envOf(queues.filter(({ inProxy }) => !inProxy)) },
    { name: "proxy", env: envOf(queues.filter(({ inProxy }) => inProxy)) },
  ];
  const annotations = podAnnotations === undefined ? {} : { annotations: podAnnotations };
  return {
    apiVersion: "apps/v1",
    kind,
    metadata: { name: "worker", annotations: { "fairlane.dev/queue-config": configOf(queues) } },
    spec: {
      replicas: 2,
      template: { metadata: { labels: { app: "worker" }, ...annotations }, spec: { containers } },
    },
  };
}

/** What must be overridden of each queue. */
export function overriddenOf({ queues = [ORDERS] }: SceneParts): string[] {
  return queues.flatMap(({ env, overrideEnv = env, kafka }) =>
    kafka ? [overrideEnv, groupOf(env)] : [overrideEnv],
  );
}

function groupOf(env: string): string {
  return `${env}_GROUP`;
}

/** The entry that counts stands behind its duplicates. */
function entriesOf({ name, env, overrideEnv, kafka, earlier = [], override = [] }: QueueParts): EnvEntry[] {
  return [
    ...earlier,
    { name: env, value: `${name}-source` },
    ...(kafka ? [{ name: groupOf(env), value: `${name}-group` }] : []),
    ...(overrideEnv === undefined ? [] : override),
  ];
}

/** Connections somewhere among the others, which keep their order: of duplicates the last counts. */
function withConnections(own: readonly EnvEntry[], after: number): EnvEntry[] {
  return [...own.slice(0, after), ...CONNECTIONS, ...own.slice(after)];
}

function configOf(queues: readonly QueueParts[]): string {
  return JSON.stringify({
    version: 1,
    queues: queues.map(({ name, env, overrideEnv, kafka, inProxy }) => ({
      name,
      container: inProxy ? "proxy" : "worker",
      source: { env, ...(overrideEnv === undefined ? {} : { overrideEnv }) },
      ...(kafka
        ? { kafka: { bootstrapServers: { env: "URL" }, group: { env: groupOf(env) } } }
        : { rabbitmq: { url: { env: "URL" }, managementUrl: { env: "MANAGEMENT" } } }),
    })),
  });
}

/** Of a name: entries that do not count, whatever they are. */
function duplicates(name: string): fc.Arbitrary<EnvEntry[]> {
  const entry: fc.Arbitrary<EnvEntry> = fc.oneof(
    fc.string().map((value) => ({ name, value })),
    fc.constant({ name }),
    fc.constant({ name, valueFrom: { fieldRef: { fieldPath: "metadata.name" } } }),
  );
  return fc.array(entry, { maxLength: 2 });
}

function queueParts(index: number): fc.Arbitrary<QueueParts> {
  const [env, shadow] = [`Q${index}`, `Q${index}_SHADOW`];
  const empty: fc.Arbitrary<EnvEntry> = fc.constantFrom({ name: shadow, value: "" }, { name: shadow });
  // Absent, or there and empty after others of the name.
  const override: fc.Arbitrary<EnvEntry[]> = fc.oneof(
    fc.constant<EnvEntry[]>([]),
    fc.tuple(duplicates(shadow), empty).map(([others, last]) => [...others, last]),
  );
  return fc.record({
    name: fc.constant(`queue-${index}`),
    env: fc.constant(env),
    overrideEnv: fc.constantFrom(undefined, shadow),
    kafka: fc.boolean(),
    inProxy: fc.boolean(),
    earlier: duplicates(env),
    override,
  });
}

const annotations = fc.dictionary(fc.constantFrom("example.com/a", "~/~1", "b"), fc.string(), {
  noNullPrototype: true,
});

export const scene: fc.Arbitrary<SceneParts> = fc.record({
  kind: fc.constantFrom("Deployment" as const, "StatefulSet" as const),
  queues: fc
    .integer({ min: 1, max: 4 })
    .chain((count) => fc.tuple(...Array.from({ length: count }, (_, index) => queueParts(index)))),
  podAnnotations: fc.oneof(fc.constantFrom(undefined, null), annotations),
  before: fc.integer({ min: 0, max: 2 }),
  after: fc.nat(9),
});
