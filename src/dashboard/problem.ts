import { FairlaneApiError } from "../client/fairlane.ts";

/** A failure as it is shown. */
export interface Problem {
  /** What was being done, such as "Reading the topics". */
  what: string;
  detail: string;
  /** HTTP; null: no answer came. */
  status: number | null;
  /** null: no answer came. */
  code: string | null;
  requestId: string | null;
  /** When it is tried again by itself; null: not. */
  retryAtMs: number | null;
}

export function problemOf(what: string, error: unknown, retryAtMs: number | null = null): Problem {
  if (error instanceof FairlaneApiError) {
    const { status, code, detail, requestId, issues } = error;
    const shown = [detail, ...issues.map(({ path, message }) => `${path}: ${message}`)].join("; ");
    return { what, detail: shown, status, code, requestId, retryAtMs };
  }
  const detail = error instanceof Error ? error.message : String(error);
  return { what, detail, status: null, code: null, requestId: null, retryAtMs };
}
