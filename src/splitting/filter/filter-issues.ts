import { MAX_FILTER_ISSUES } from "./limits.ts";

export interface FilterIssue {
  /** Where in the filter's JSON; empty: the filter as a whole. */
  path: (string | number)[];
  /** In words that fit behind the path. */
  message: string;
}

export type Path = readonly (string | number)[];

/** What a message repeats of a filter is cut. */
const MAX_QUOTED_CHARS = 80;

export class FilterIssues {
  readonly found: FilterIssue[] = [];

  add(path: Path, message: string): void {
    if (this.found.length < MAX_FILTER_ISSUES) this.found.push({ path: path.map(shortened), message });
  }

  get isEmpty(): boolean {
    return this.found.length === 0;
  }
}

function shortened(part: string | number): string | number {
  if (typeof part === "number") return part;
  const cut = part.length > MAX_QUOTED_CHARS ? `${part.slice(0, MAX_QUOTED_CHARS)}…` : part;
  return cut.toWellFormed();
}
