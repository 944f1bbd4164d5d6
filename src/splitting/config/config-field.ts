import { type Path, quoted, type Report, type Rule } from "./issue.ts";
import { nearestName } from "./nearest-name.ts";

/** Words for what is wrong with a text, with what was probably meant; null: nothing is. */
export type TextCheck = (text: string) => { rule: Rule; message: string; suggestion?: string | null } | null;

/** What a key is called in the text, by the path of the key that was meant. */
export type Misspelt = Map<string, string>;

/** A path as it stands in the text. */
export function pathInText(path: Path, misspelt: Misspelt): Path {
  return path.map((step, index) => misspelt.get(JSON.stringify(path.slice(0, index + 1))) ?? step);
}

/**
 * A value of the configuration and where it stands. Whatever is read of it tells what is wrong and answers null, so
 * that the rest is read all the same.
 */
export class ConfigField {
  readonly value: unknown;
  /** With keys as they were meant. */
  readonly path: Path;
  readonly #report: Report;
  readonly #misspelt: Misspelt;

  constructor(value: unknown, path: Path, report: Report, misspelt: Misspelt) {
    this.value = value;
    this.path = path;
    this.#report = report;
    this.#misspelt = misspelt;
  }

  say(rule: Rule, message: string, suggestion: string | null = null): null {
    this.#report(rule, this.path, message, suggestion);
    return null;
  }

  /**
   * The fields of a mapping that has these keys and no others. A key that is nearly one of them is told, and then read
   * as the one that was meant.
   */
  record<Key extends string>(
    required: readonly Key[],
    optional: readonly Key[] = [],
  ): Partial<Record<Key, ConfigField>> | null {
    const { value } = this;
    if (typeof value !== "object" || value === null || Array.isArray(value)) {
      return this.say("value-wrong", `must be a mapping with ${[...required, ...optional].join(", ")}`);
    }
    const given = value as Record<string, unknown>;
    const known = [...required, ...optional];
    const fields = new Map<string, ConfigField>();
    const keys = Object.keys(given);
    for (const key of keys) {
      if (known.includes(key as Key)) fields.set(key, this.#below(key, given[key]));
    }
    for (const key of keys) {
      if (known.includes(key as Key)) continue;
      const meant = nearestName(key, known);
      this.#report("key-unknown", [...this.path, key], `there is no key ${quoted(key)} here`, meant);
      if (meant === null || fields.has(meant)) continue;
      this.#misspelt.set(JSON.stringify([...this.path, meant]), key);
      fields.set(meant, this.#below(meant, given[key]));
    }
    for (const key of required) {
      if (!fields.has(key)) this.say("key-missing", `the key ${key} is missing`);
    }
    return Object.fromEntries(fields) as Partial<Record<Key, ConfigField>>;
  }

  list(): ConfigField[] | null {
    if (!Array.isArray(this.value)) return this.say("value-wrong", "must be a list");
    return this.value.map((item, index) => this.#below(index, item));
  }

  text(check: TextCheck): string | null {
    const { value } = this;
    if (typeof value !== "string") return this.say("value-wrong", "must be a text: put it in quotes");
    const problem = check(value);
    if (problem === null) return value;
    return this.say(problem.rule, problem.message, problem.suggestion ?? null);
  }

  #below(step: string | number, value: unknown): ConfigField {
    return new ConfigField(value, [...this.path, step], this.#report, this.#misspelt);
  }
}
