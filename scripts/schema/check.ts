/** One thing that verify looked at. */
export interface Check {
  name: string;
  state: "ok" | "warning" | "failed";
  /** What was found, and unless it is ok, what to do. */
  detail: string;
}

const LABELS = { ok: "ok     ", warning: "warning", failed: "FAILED " } as const;

export function checkLine({ name, state, detail }: Check): string {
  return `${LABELS[state]}  ${name}: ${detail}`;
}
