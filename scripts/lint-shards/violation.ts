/** What the shard linter found, as one line for people. */
export interface Violation {
  /** A file, or the name of a statement. */
  where: string;
  rule: string;
  /** What is wrong and what to do. */
  advice: string;
}

export function violationLine({ where, rule, advice }: Violation): string {
  return `${where}: ${rule}: ${advice}`;
}
