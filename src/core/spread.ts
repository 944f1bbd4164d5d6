import { SPREAD_LANES } from "./limits.ts";

const FNV_OFFSET_BASIS = 0x811c9dc5;
const FNV_PRIME = 0x01000193;

/** The lane of a message published without a partition key: `~0` to `~15`, the same for the same ID. */
export function spreadLane(id: string): string {
  const hash = fnv1a32(id);
  // FNV's low bits see only the low bits of each byte: fold the high half in.
  return `~${(((hash >>> 16) ^ hash) >>> 0) % SPREAD_LANES}`;
}

/** FNV-1a over the UTF-8 bytes of a well-formed text, as an unsigned 32-bit integer. */
export function fnv1a32(text: string): number {
  let hash = FNV_OFFSET_BASIS;
  for (let i = 0; i < text.length; i++) {
    const codePoint = text.codePointAt(i) ?? 0;
    if (codePoint < 0x80) {
      hash = step(hash, codePoint);
    } else if (codePoint < 0x800) {
      hash = step(hash, 0xc0 | (codePoint >> 6));
      hash = step(hash, 0x80 | (codePoint & 0x3f));
    } else if (codePoint < 0x10000) {
      hash = step(hash, 0xe0 | (codePoint >> 12));
      hash = step(hash, 0x80 | ((codePoint >> 6) & 0x3f));
      hash = step(hash, 0x80 | (codePoint & 0x3f));
    } else {
      i++;
      hash = step(hash, 0xf0 | (codePoint >> 18));
      hash = step(hash, 0x80 | ((codePoint >> 12) & 0x3f));
      hash = step(hash, 0x80 | ((codePoint >> 6) & 0x3f));
      hash = step(hash, 0x80 | (codePoint & 0x3f));
    }
  }
  return hash >>> 0;
}

function step(hash: number, byte: number): number {
  return Math.imul(hash ^ byte, FNV_PRIME);
}
