import { sha256Hex } from "./sha256.ts";
import { MAX_LABEL_CHARS, MAX_PREFIX_CHARS } from "./split-limits.ts";
import type { ResourceKind } from "./split-state.ts";

/** What a resource's name is made of, and nothing else: so it can be recomputed from what is known of the split. */
export interface ResourceIdentity {
  /** At most 16 of [a-z0-9-], begins and ends alphanumeric. */
  prefix: string;
  kind: ResourceKind;
  tenant: string;
  workload: string;
  queue: string;
  /** Only where each activation must have a resource of its own: brokers remember every name that they ever had. */
  splitId?: string;
  /** Of a route's shadow: its place in the bounded pool of its queue. It names neither the route nor the activation. */
  slot: number | null;
}

const HASH_DIGITS = 20;
const LABEL = /^[a-z0-9]([a-z0-9-]*[a-z0-9])?$/;

/** Whether `text` is a label by RFC 1123 of at most `maxChars`. */
export function isLabel(text: string, maxChars = MAX_LABEL_CHARS): boolean {
  return text.length <= maxChars && LABEL.test(text);
}

/**
 * `<prefix>-<kind>-<queue, cleaned and cut>-<20 hex of SHA-256 over the identity>`: a label by RFC 1123, so that one rule
 * suits brokers and Kubernetes. Two identities have the same name only if 80 bits of their digests are equal. Throws for
 * a prefix that is no label: it is checked where it comes in.
 */
export function resourceName(identity: ResourceIdentity): string {
  const { prefix, kind, queue } = identity;
  if (!isLabel(prefix, MAX_PREFIX_CHARS)) throw new Error("the prefix of a resource's name is no label");
  const hash = sha256Hex(new TextEncoder().encode(identityText(identity))).slice(0, HASH_DIGITS);
  const room = MAX_LABEL_CHARS - `${prefix}-${kind}--${hash}`.length;
  return `${prefix}-${kind}-${cleaned(queue, room)}-${hash}`;
}

/** Each part behind its length in bytes, so that no two identities read the same. */
function identityText({ prefix, kind, tenant, workload, queue, splitId, slot }: ResourceIdentity): string {
  const parts = [prefix, kind, tenant, workload, queue, splitId ?? null, slot === null ? null : String(slot)];
  return parts
    .map((part) => (part === null ? "-" : `${new TextEncoder().encode(part).length}:${part}`))
    .join(",");
}

/** For people only: what is lost here, the digest tells apart. */
function cleaned(queue: string, room: number): string {
  const plain = queue.toLowerCase().replaceAll(/[^a-z0-9]+/g, "-");
  const cut = plain.replace(/^-/, "").slice(0, room).replace(/-$/, "");
  return cut === "" ? "q" : cut;
}
