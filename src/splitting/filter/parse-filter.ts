import { hasMoreBytes } from "./code-points.ts";
import { TestCompiler } from "./compile-test.ts";
import type { Filter } from "./filter.ts";
import type { FilterDialect } from "./filter-dialect.ts";
import type { FilterIssue } from "./filter-issues.ts";
import { FilterReader } from "./filter-reader.ts";
import { canonicalFilter } from "./format-filter.ts";
import { MAX_FILTER_BYTES } from "./limits.ts";
import { satisfiable } from "./overlap.ts";

export type ParsedFilter = { ok: true; filter: Filter } | { ok: false; issues: FilterIssue[] };

/**
 * A filter from a JSON value, canonical: for a Fairlane topic its header names are lower-cased. What is wrong is said
 * all at once, at most MAX_FILTER_ISSUES of it. Refused as well is what no message can match, as its author is mistaken,
 * and what is too large to be decided upon. Reads own properties only and never more than the limits.
 */
export function parseFilter(value: unknown, dialect: FilterDialect): ParsedFilter {
  const compiler = new TestCompiler(1);
  const reader = new FilterReader(dialect, compiler);
  const read = reader.read(value);
  if (read === null || !reader.issues.isEmpty) return { ok: false, issues: reader.issues.found };
  const filter = canonicalFilter(read);
  const message = wholeProblem(filter, dialect, compiler);
  return message === null ? { ok: true, filter } : { ok: false, issues: [{ path: [], message }] };
}

function wholeProblem(filter: Filter, dialect: FilterDialect, compiler: TestCompiler): string | null {
  if (hasMoreBytes(JSON.stringify(filter), MAX_FILTER_BYTES)) {
    return `must have at most ${MAX_FILTER_BYTES} bytes as JSON`;
  }
  const answer = satisfiable(filter, dialect, compiler);
  if (answer.kind === "contradiction") return "contradicts itself: no message can match it";
  // Asked about whole and by its members, the header baggage may or may not contradict: a use for it is imaginable.
  if (answer.kind === "satisfiable" || answer.because === "baggage") return null;
  return `is too large to be decided upon: ${answer.reason}`;
}
