import { visibleText } from "./format.ts";

/** What of a body is shown, as text; never as markup. */
export interface BodyPreview {
  kind: "text" | "hex";
  text: string;
  contentType: string;
  bodyBytes: number;
  /** Less is shown than there is. */
  cut: boolean;
}

export const PREVIEW_BYTES = 2048;
const HEX_BYTES_A_LINE = 16;

/** `start`: the body, or as much of it as is at hand; at least what is shown of it. */
export function previewOf(start: Uint8Array, contentType: string, bodyBytes = start.length): BodyPreview {
  const shown = start.subarray(0, PREVIEW_BYTES);
  const cut = bodyBytes > shown.length;
  const about = { contentType, bodyBytes, cut };
  const text = textOf(shown, cut);
  return text === null
    ? { ...about, kind: "hex", text: hexDump(shown) }
    : { ...about, kind: "text", text: visibleLines(text) };
}

/** null: not UTF-8, or with what no text has. */
function textOf(bytes: Uint8Array, cut: boolean): string | null {
  try {
    // Streaming: a character that the cut goes through is no error.
    const text = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes, { stream: cut });
    return text.includes("\0") ? null : text;
  } catch {
    return null;
  }
}

function visibleLines(text: string): string {
  return text.replace(/[^\n\t]+/g, visibleText);
}

function hexDump(bytes: Uint8Array): string {
  const lines: string[] = [];
  for (let start = 0; start < bytes.length; start += HEX_BYTES_A_LINE) {
    const row = Array.from(bytes.subarray(start, start + HEX_BYTES_A_LINE));
    const hex = row.map((byte) => byte.toString(16).padStart(2, "0")).join(" ");
    const ascii = row.map((byte) => (byte >= 0x20 && byte < 0x7f ? String.fromCharCode(byte) : ".")).join("");
    lines.push(`${start.toString(16).padStart(4, "0")}  ${hex.padEnd(HEX_BYTES_A_LINE * 3 - 1)}  ${ascii}`);
  }
  return lines.join("\n");
}

/** The first bytes of what base64 stands for, one more than is shown. */
export function bytesOfBase64(base64: string): Uint8Array {
  const chars = Math.ceil((PREVIEW_BYTES + 1) / 3) * 4;
  return Uint8Array.from(atob(base64.slice(0, chars)), (character) => character.charCodeAt(0));
}

/** The first bytes of a text in UTF-8, more than are shown where there are more. */
export function bytesOfText(text: string): Uint8Array {
  // A UTF-16 unit has at least one byte; one that the cut halves is behind what is shown.
  return new TextEncoder().encode(text.slice(0, PREVIEW_BYTES + 1));
}
