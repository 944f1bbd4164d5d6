/**
 * Base64 as RFC 4648 section 4 has it, strictly: with padding, without white space, and with the unused
 * bits zero, so that a text and its bytes stand for each other one to one.
 */
const ALPHABET = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
const PADDING = 0x3d;
const CODES = new TextEncoder().encode(ALPHABET);
const VALUES = valuesByCode();
const ascii = new TextDecoder();

export function encodeBase64(bytes: Uint8Array): string {
  const out = new Uint8Array(Math.ceil(bytes.length / 3) * 4);
  const whole = bytes.length - (bytes.length % 3);
  let to = 0;
  for (let i = 0; i < whole; i += 3) {
    const bits = ((bytes[i] as number) << 16) | ((bytes[i + 1] as number) << 8) | (bytes[i + 2] as number);
    out[to++] = CODES[bits >> 18] as number;
    out[to++] = CODES[(bits >> 12) & 63] as number;
    out[to++] = CODES[(bits >> 6) & 63] as number;
    out[to++] = CODES[bits & 63] as number;
  }
  const rest = bytes.length - whole;
  if (rest > 0) {
    const bits = ((bytes[whole] as number) << 16) | ((bytes[whole + 1] ?? 0) << 8);
    out[to++] = CODES[bits >> 18] as number;
    out[to++] = CODES[(bits >> 12) & 63] as number;
    out[to++] = rest === 2 ? (CODES[(bits >> 6) & 63] as number) : PADDING;
    out[to++] = PADDING;
  }
  return ascii.decode(out);
}

/** null: the text is not strict base64. */
export function decodeBase64(text: string): Uint8Array | null {
  if (text.length % 4 !== 0) return null;
  const padding = text.endsWith("==") ? 2 : text.endsWith("=") ? 1 : 0;
  const out = new Uint8Array((text.length / 4) * 3 - padding);
  const last = text.length - (padding > 0 ? 4 : 0);
  let to = 0;
  for (let i = 0; i < last; i += 4) {
    const bits =
      (value(text, i) << 18) | (value(text, i + 1) << 12) | (value(text, i + 2) << 6) | value(text, i + 3);
    if (bits < 0) return null;
    out[to++] = bits >> 16;
    out[to++] = bits >> 8;
    out[to++] = bits;
  }
  if (padding === 0) return out;
  const third = padding === 1 ? value(text, last + 2) : 0;
  const bits = (value(text, last) << 18) | (value(text, last + 1) << 12) | (third << 6);
  if (bits < 0 || (bits & (padding === 1 ? 0xff : 0xffff)) !== 0) return null;
  out[to++] = bits >> 16;
  if (padding === 1) out[to] = bits >> 8;
  return out;
}

/** 0 to 63, or a negative number that stays negative through the shifts above. */
function value(text: string, at: number): number {
  const code = text.charCodeAt(at);
  return code < 128 ? (VALUES[code] as number) : -1;
}

function valuesByCode(): Int32Array {
  const values = new Int32Array(128).fill(-1);
  for (let i = 0; i < ALPHABET.length; i++) values[ALPHABET.charCodeAt(i)] = i;
  return values;
}
