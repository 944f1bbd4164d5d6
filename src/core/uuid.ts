/** Random bytes that one `uuidV7` uses up. */
export const UUID_RANDOM_BYTES = 10;

/**
 * A version 7 UUID (RFC 9562): 48 bits of time, 74 bits of chance.
 *
 * @param random at least `UUID_RANDOM_BYTES` bytes from `randomOffset` on
 */
export function uuidV7(nowMs: number, random: Uint8Array, randomOffset = 0): string {
  const time = nowMs.toString(16).padStart(12, "0");
  const byte = (index: number) => random[randomOffset + index] ?? 0;
  const versioned = 0x7000 | ((byte(0) << 8) & 0x0f00) | byte(1);
  const variant = 0x8000 | ((byte(2) << 8) & 0x3f00) | byte(3);
  let tail = "";
  for (let i = 4; i < UUID_RANDOM_BYTES; i++) tail += byte(i).toString(16).padStart(2, "0");
  return `${time.slice(0, 8)}-${time.slice(8)}-${versioned.toString(16)}-${variant.toString(16)}-${tail}`;
}
