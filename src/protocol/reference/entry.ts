/** Parts of the reference, in the order in which a newcomer needs them. */
export const TAGS = {
  Publish: "Put messages into a topic.",
  Consume: "Receive messages as a member of a consumer group, and settle them.",
  "Topics and groups": "Settings, and what there is.",
  Messages: "What is stored, for those who operate it.",
  Progress: "How far a group is, who holds which partition, and how to change that.",
  Explain: "Why a message is, or is not, being delivered.",
  "Dead letters": "Messages that a group gave up on.",
  Splitting: "Lend some messages of a group to a developer, by their headers.",
  Server: "What needs no token.",
} as const;
export type Tag = keyof typeof TAGS;

/** What the reference says of an operation beyond its schemas. */
export interface ReferenceEntry {
  tag: Tag;
  description: string;
  /** By status, what an error means here in particular. Statuses that only some operations have stand here alone. */
  errors?: Readonly<Record<number, string>>;
  /** One request and its reply, as they are on the wire; values of a query as their schemas type them. */
  example: {
    params?: Readonly<Record<string, string>>;
    query?: Readonly<Record<string, unknown>>;
    headers?: Readonly<Record<string, unknown>>;
    body?: unknown;
    /** Absent: no content. */
    reply?: unknown;
  };
}

const tenant = "demo";
const topic = "orders";
export const IN_TENANT = { tenant };
export const IN_TOPIC = { tenant, topic };
export const IN_GROUP = { tenant, topic, group: "billing" };
export const AS_SUBSCRIBER = { ...IN_GROUP, subscriber: "worker-1" };

export const NO_TOPIC = { 404: "unknown-tenant: there is no such tenant; not-found: there is no such topic" };
export const NO_GROUP = {
  404: "unknown-tenant: there is no such tenant; not-found: there is no such topic or group",
};

/** One message through all examples. */
export const KEY = "order-1";
export const ID = "order-1/created";
export const OFFSET = 17;
export const PUBLISHED_AT = 1_767_225_600_000;
