/**
 * Bytes of a well-formed text in UTF-8. `ascii` spares the count where the caller knows that the text
 * has no other characters.
 */
export function utf8Length(text: string, ascii = false): number {
  if (ascii) return text.length;
  let bytes = text.length;
  for (let i = 0; i < text.length; i++) {
    const code = text.charCodeAt(i);
    if (code < 0x80) continue;
    // A surrogate pair is two units and four bytes: one more for each of its halves.
    bytes += code < 0x800 || (code >= 0xd800 && code <= 0xdfff) ? 1 : 2;
  }
  return bytes;
}

const decoder = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

/** null: not UTF-8, or it starts with a byte order mark, which JSON forbids (RFC 8259, 8.1). */
export function decodeUtf8(bytes: Uint8Array): string | null {
  try {
    const text = decoder.decode(bytes);
    return text.charCodeAt(0) === 0xfeff ? null : text;
  } catch (error) {
    if (error instanceof TypeError) return null;
    throw error;
  }
}
