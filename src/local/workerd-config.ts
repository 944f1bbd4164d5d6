import { BUNDLE_FILE, CRON_ENTRYPOINT } from "./worker-bundle.ts";

/** Both as in wrangler.toml; a test compares them. */
export const COMPATIBILITY_DATE = "2026-11-01";
export const COMPATIBILITY_FLAGS = ["enable_request_signal"];
export const CONFIG_NAME = "fairlane";

/** The binding and the class of each Durable Object. */
export const OBJECT_CLASSES = {
  TENANT: "TenantObject",
  GC_REGISTRY: "GcRegistry",
  SPLIT_MANAGER: "SplitManager",
} as const;

/** The sockets' names, as the runtime reports them with their ports. */
export type SocketName = "http" | "cron";

export interface WorkerdConfig {
  /** Host and port of the API, an IPv6 host in brackets. */
  address: string;
  objectsPath: string;
  /** Text variables of the Worker. */
  variables: Readonly<Record<string, string>>;
  /** What the Worker may connect to. */
  network: NetworkReach;
}

/** Addresses as the runtime sorts them; by its own default it allows public ones only. */
export type NetworkReach = readonly ("local" | "private" | "public")[];

/** The runtime's configuration, to stand beside the bundle. */
export function workerdConfig({ address, objectsPath, variables, network }: WorkerdConfig): string {
  const bindings = [
    ...Object.entries(OBJECT_CLASSES).map(
      ([name, className]) => `(name = ${text(name)}, durableObjectNamespace = ${text(className)})`,
    ),
    ...Object.entries(variables).map(([name, value]) => `(name = ${text(name)}, text = ${text(value)})`),
  ];
  // The key is the folder's name on disk: changing it loses every object of a data folder.
  const namespaces = Object.values(OBJECT_CLASSES).map(
    (name) => `(className = ${text(name)}, uniqueKey = ${text(`fairlane-${name}`)}, enableSql = true)`,
  );
  return `using Workerd = import "/workerd/workerd.capnp";

const ${CONFIG_NAME} :Workerd.Config = (
  services = [
    (name = "worker", worker = .worker),
    (name = "internet", network = (allow = [${network.map(text).join(", ")}], tlsOptions = (trustBrowserCas = true))),
    (name = "objects", disk = (path = ${text(objectsPath)}, writable = true)),
  ],
  sockets = [
    (name = "http", address = ${text(address)}, http = (), service = "worker"),
    (name = "cron", address = "127.0.0.1:0", http = (),
      service = (name = "worker", entrypoint = ${text(CRON_ENTRYPOINT)})),
  ],
);

const worker :Workerd.Worker = (
  modules = [(name = "worker.js", esModule = embed ${text(BUNDLE_FILE)})],
  compatibilityDate = ${text(COMPATIBILITY_DATE)},
  compatibilityFlags = [${COMPATIBILITY_FLAGS.map(text).join(", ")}],
  bindings = [
    ${bindings.join(",\n    ")},
  ],
  durableObjectNamespaces = [
    ${namespaces.join(",\n    ")},
  ],
  durableObjectStorage = (localDisk = "objects"),
);
`;
}

/** A Cap'n Proto text literal: UTF-8 as it is, with C's escapes. */
function text(value: string): string {
  const escaped = value.replace(/[\\"]/g, "\\$&").replace(
    // biome-ignore lint/suspicious/noControlCharactersInRegex: these are the characters to escape.
    /[\u0000-\u001f\u007f]/g,
    (character) => `\\x${character.charCodeAt(0).toString(16).padStart(2, "0")}`,
  );
  return `"${escaped}"`;
}
