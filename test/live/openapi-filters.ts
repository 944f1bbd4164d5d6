import type { FilterDialect } from "../../src/splitting/filter/filter-dialect.ts";
import type { FilterIssue } from "../../src/splitting/filter/filter-issues.ts";
import { parseFilter } from "../../src/splitting/filter/parse-filter.ts";

// Of a filter the document says forms, names and lengths; the rest of its rules stands in words, and generated filters
// break those now and then: they need a reader of filters to be kept.

/** All that is wrong is what no schema can say: sense, size in all, regular expressions. */
export function inWordsAlone(issues: readonly FilterIssue[]): boolean {
  return issues.every(
    ({ path, message }) =>
      path.at(-1) === "matches" ||
      /^(?:contradicts itself|is too large to be decided upon|must have at most \d+ (?:bytes|conditions))/.test(
        message,
      ),
  );
}

/** The filter, or in place of one that only words forbid another one. */
export function keepFilterRules(filter: unknown, dialect: FilterDialect = "fairlane"): unknown {
  const parsed = parseFilter(filter, dialect);
  return parsed.ok || !inWordsAlone(parsed.issues) ? filter : { header: "x-dev", exists: true };
}
