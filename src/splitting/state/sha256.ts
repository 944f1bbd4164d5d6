/**
 * SHA-256 by FIPS 180-4, synchronous and without a platform: the runtime's own digest answers later, and what decides
 * on a document may not wait. For names of a few hundred bytes.
 */

const PRIMES = firstPrimes(64);
/** 36 bits of a double's 53 are needed, so the rounding of a root does not reach them. */
const ROUND_CONSTANTS = PRIMES.map((prime) => fractionBits(Math.cbrt(prime)));
const INITIAL = PRIMES.slice(0, 8).map((prime) => fractionBits(Math.sqrt(prime)));

const BLOCK_BYTES = 64;

/** The digest as 64 hex digits. */
export function sha256Hex(bytes: Uint8Array): string {
  const hash = Uint32Array.from(INITIAL);
  const padded = pad(bytes);
  const view = new DataView(padded.buffer);
  const schedule = new Uint32Array(64);
  for (let start = 0; start < padded.length; start += BLOCK_BYTES) {
    fillSchedule(schedule, view, start);
    compress(hash, schedule);
  }
  return [...hash].map((word) => word.toString(16).padStart(8, "0")).join("");
}

/** One bit, zeros, and the length in bits as 64: whole blocks. */
function pad(bytes: Uint8Array): Uint8Array<ArrayBuffer> {
  const blocks = Math.ceil((bytes.length + 9) / BLOCK_BYTES);
  const padded = new Uint8Array(blocks * BLOCK_BYTES);
  padded.set(bytes);
  padded[bytes.length] = 0x80;
  new DataView(padded.buffer).setBigUint64(padded.length - 8, BigInt(bytes.length) * 8n);
  return padded;
}

function fillSchedule(schedule: Uint32Array, view: DataView, start: number): void {
  for (let i = 0; i < 16; i++) schedule[i] = view.getUint32(start + 4 * i);
  for (let i = 16; i < 64; i++) {
    const before15 = word(schedule, i - 15);
    const before2 = word(schedule, i - 2);
    const s0 = rotate(before15, 7) ^ rotate(before15, 18) ^ (before15 >>> 3);
    const s1 = rotate(before2, 17) ^ rotate(before2, 19) ^ (before2 >>> 10);
    schedule[i] = word(schedule, i - 16) + s0 + word(schedule, i - 7) + s1;
  }
}

function compress(hash: Uint32Array, schedule: Uint32Array): void {
  let [a = 0, b = 0, c = 0, d = 0, e = 0, f = 0, g = 0, h = 0] = hash;
  for (let i = 0; i < 64; i++) {
    const s1 = rotate(e, 6) ^ rotate(e, 11) ^ rotate(e, 25);
    const choice = (e & f) ^ (~e & g);
    const t1 = (h + s1 + choice + (ROUND_CONSTANTS[i] ?? 0) + word(schedule, i)) | 0;
    const s0 = rotate(a, 2) ^ rotate(a, 13) ^ rotate(a, 22);
    const majority = (a & b) ^ (a & c) ^ (b & c);
    [h, g, f, e, d, c, b, a] = [g, f, e, (d + t1) | 0, c, b, a, (t1 + s0 + majority) | 0];
  }
  [a, b, c, d, e, f, g, h].forEach((value, i) => {
    hash[i] = word(hash, i) + value;
  });
}

function word(words: Uint32Array, at: number): number {
  return words[at] ?? 0;
}

function rotate(value: number, bits: number): number {
  return (value >>> bits) | (value << (32 - bits));
}

function fractionBits(value: number): number {
  return Math.floor((value - Math.floor(value)) * 2 ** 32);
}

function firstPrimes(count: number): number[] {
  const primes: number[] = [];
  for (let n = 2; primes.length < count; n++) if (primes.every((prime) => n % prime !== 0)) primes.push(n);
  return primes;
}
