/**
 * A receipt names one delivery: group generation, offset and the nonce stored with the delivery. It also says
 * which partition to look in. A checksum over all of it and the names of tenant, topic and group tells a receipt
 * of another place, or a damaged one, from one that is only too old. Its secret is the nonce: 64 random bits.
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

const encoder = new TextEncoder();
const PATTERN =
  /^1\.([0-9a-z]{1,7})\.(([0-9a-z]{1,11})\.([0-9a-z]{1,11})\.([0-9a-f]{16})\.([A-Za-z0-9_-]+))$/;

/** Makes the receipts of one scope; what they share is computed once. */
export class ReceiptMaker {
  private readonly scopeHash: number;
  private readonly generation: string;
  private lastKey = "";
  private lastEncodedKey = "";

  constructor(scope: ReceiptScope, generation: number) {
    this.scopeHash = hashOfScope(scope);
    this.generation = generation.toString(36);
  }

  make(offset: number, nonce: string, partitionKey: string): string {
    if (partitionKey !== this.lastKey) {
      this.lastKey = partitionKey;
      this.lastEncodedKey = encodeKey(partitionKey);
    }
    const rest = `${this.generation}.${offset.toString(36)}.${nonce}.${this.lastEncodedKey}`;
    return `1.${checksum(this.scopeHash, rest)}.${rest}`;
  }
}

/** null: not a receipt of this tenant, topic and group. */
export function parseReceipt(text: string, scope: ReceiptScope): Receipt | null {
  if (text.length > MAX_RECEIPT_CHARS) return null;
  const parts = PATTERN.exec(text);
  if (!parts) return null;
  const [, check, rest, generation, offset, nonce, key] = parts as unknown as string[] & { length: 7 };
  if (check !== checksum(hashOfScope(scope), rest as string)) return null;
  const partitionKey = decodeKey(key as string);
  if (partitionKey === null) return null;
  const receipt = {
    generation: Number.parseInt(generation as string, 36),
    offset: Number.parseInt(offset as string, 36),
    nonce: nonce as string,
    partitionKey,
  };
  return Number.isSafeInteger(receipt.offset) && Number.isSafeInteger(receipt.generation) ? receipt : null;
}

let lastScope: ReceiptScope | null = null;
let lastScopeHash = 0;

/** None of the names can hold a line break. */
function hashOfScope(scope: ReceiptScope): number {
  const { tenant, topic, group } = scope;
  if (lastScope?.tenant === tenant && lastScope.topic === topic && lastScope.group === group)
    return lastScopeHash;
  lastScope = { tenant, topic, group };
  lastScopeHash = hashed(0x811c9dc5, `${tenant}\n${topic}\n${group}\n`);
  return lastScopeHash;
}

function checksum(scopeHash: number, rest: string): string {
  return (hashed(scopeHash, rest) >>> 0).toString(36);
}

/** FNV-1a, 32 bits, of ASCII text, from `start` on. */
function hashed(start: number, text: string): number {
  let hash = start;
  for (let at = 0; at < text.length; at += 1) hash = Math.imul(hash ^ text.charCodeAt(at), 0x01000193);
  return hash;
}

function encodeKey(partitionKey: string): string {
  const bytes = encoder.encode(partitionKey);
  let binary = "";
  for (const byte of bytes) binary += String.fromCharCode(byte);
  return btoa(binary).replace(/\+/g, "-").replace(/\//g, "_").replace(/=+$/, "");
}

const utf8 = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });
let lastText = "";
let lastKey: string | null = null;

/** A settlement names few partitions, one after the other. */
function decodeKey(text: string): string | null {
  if (text === lastText) return lastKey;
  lastText = text;
  lastKey = decodeKeyOnce(text);
  return lastKey;
}

function decodeKeyOnce(text: string): string | null {
  try {
    const binary = atob(text.replace(/-/g, "+").replace(/_/g, "/"));
    let ascii = true;
    for (let at = 0; at < binary.length && ascii; at += 1) ascii = binary.charCodeAt(at) < 0x80;
    return ascii ? binary : utf8.decode(Uint8Array.from(binary, (c) => c.charCodeAt(0)));
  } catch {
    // Not base64, or not text: no receipt of ours.
    return null;
  }
}
