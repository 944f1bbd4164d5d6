/**
 * A receipt names one delivery: group generation, offset and the nonce stored with the delivery. It also says
 * which partition to look in, and a checksum of tenant, topic and group tells a receipt of another place
 * from one that is only too old. It is no secret beyond its nonce; guessing 64 random bits is the attack.
 *
 * Text form: `1.<checksum>.<generation>.<offset>.<nonce>.<partition key in base64url>`, numbers in base 36.
 */
export interface Receipt {
  generation: number;
  offset: number;
  nonce: string;
  partitionKey: string;
}

export interface ReceiptScope {
  tenant: string;
  topic: string;
  group: string;
}

/** Longer than the longest receipt that we make: 255 four-byte code points in base64url, and the numbers. */
export const MAX_RECEIPT_CHARS = 1500;

const PATTERN = /^1\.([0-9a-z]{1,7})\.([0-9a-z]{1,11})\.([0-9a-z]{1,11})\.([0-9a-f]{16})\.([A-Za-z0-9_-]+)$/;

/** Makes the receipts of one scope; what they share is computed once. */
export class ReceiptMaker {
  private readonly prefix: string;
  private lastKey = "";
  private lastEncodedKey = "";

  constructor(scope: ReceiptScope, generation: number) {
    this.prefix = `1.${checksum(scope)}.${generation.toString(36)}.`;
  }

  make(offset: number, nonce: string, partitionKey: string): string {
    if (partitionKey !== this.lastKey) {
      this.lastKey = partitionKey;
      this.lastEncodedKey = encodeKey(partitionKey);
    }
    return `${this.prefix}${offset.toString(36)}.${nonce}.${this.lastEncodedKey}`;
  }
}

/** null: not a receipt of this tenant, topic and group. */
export function parseReceipt(text: string, scope: ReceiptScope): Receipt | null {
  if (text.length > MAX_RECEIPT_CHARS) return null;
  const parts = PATTERN.exec(text);
  if (!parts) return null;
  const [, check, generation, offset, nonce, key] = parts as unknown as [
    string,
    string,
    string,
    string,
    string,
    string,
  ];
  if (check !== checksum(scope)) return null;
  const partitionKey = decodeKey(key);
  if (partitionKey === null) return null;
  const receipt = {
    generation: Number.parseInt(generation, 36),
    offset: Number.parseInt(offset, 36),
    nonce,
    partitionKey,
  };
  return Number.isSafeInteger(receipt.offset) && Number.isSafeInteger(receipt.generation) ? receipt : null;
}

let lastScope: ReceiptScope | null = null;
let lastChecksum = "";

/** FNV-1a, 32 bits, of the scope's names; none of them can hold a line break. */
function checksum(scope: ReceiptScope): string {
  if (
    lastScope &&
    lastScope.tenant === scope.tenant &&
    lastScope.topic === scope.topic &&
    lastScope.group === scope.group
  ) {
    return lastChecksum;
  }
  let hash = 0x811c9dc5;
  for (const char of `${scope.tenant}\n${scope.topic}\n${scope.group}`) {
    hash = Math.imul(hash ^ char.charCodeAt(0), 0x01000193);
  }
  lastScope = { tenant: scope.tenant, topic: scope.topic, group: scope.group };
  lastChecksum = (hash >>> 0).toString(36);
  return lastChecksum;
}

function encodeKey(partitionKey: string): string {
  const bytes = new TextEncoder().encode(partitionKey);
  let binary = "";
  for (const byte of bytes) binary += String.fromCharCode(byte);
  return btoa(binary).replace(/\+/g, "-").replace(/\//g, "_").replace(/=+$/, "");
}

function decodeKey(text: string): string | null {
  try {
    const binary = atob(text.replace(/-/g, "+").replace(/_/g, "/"));
    return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(
      Uint8Array.from(binary, (c) => c.charCodeAt(0)),
    );
  } catch {
    // Not base64, or not text: no receipt of ours.
    return null;
  }
}
