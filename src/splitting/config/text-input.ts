import type { Issues, Rule } from "./issue.ts";

/** A file as it was read, or the first bytes of one that is too large. */
export interface InputFile {
  /** As it is named to people. */
  name: string;
  bytes: Uint8Array;
}

/** Kubernetes keeps an object of at most 1.5 MiB; what is larger is a collection that can be given in parts. */
export const MAX_MANIFEST_BYTES = 2 * 1024 * 1024;
/** All annotations of an object together may have 256 KiB; a configuration of the most queues has some 10 KiB. */
export const MAX_CONFIG_BYTES = 64 * 1024;

/** The text of a file, or null after saying why there is none. */
export function textOf({ name, bytes }: InputFile, maxBytes: number, issues: Issues): string | null {
  const refuse = (rule: Rule, message: string) => {
    issues.add({ rule, file: name, place: null, workload: null, path: "", message, suggestion: null });
    return null;
  };
  if (bytes.length > maxBytes) return refuse("input-too-large", `has over ${maxBytes} bytes`);
  let text: string;
  try {
    text = new TextDecoder("utf-8", { fatal: true, ignoreBOM: false }).decode(bytes);
  } catch {
    // The decoder's own words say nothing more.
    return refuse("input-not-text", "is not UTF-8 text");
  }
  if (text.includes("\0")) return refuse("input-not-text", "is not a text: it holds NUL");
  if (text.trim() === "") return refuse("input-empty", "is empty");
  return text;
}
