import { BeyondLimit } from "./budget.ts";
import type { TestCompiler } from "./compile-test.ts";
import { keyProblem, nameProblem, prefixProblem, type Subject, textProblem } from "./field-rules.ts";
import type { Filter, Test } from "./filter.ts";
import type { FilterDialect } from "./filter-dialect.ts";
import { FilterIssues, type Path } from "./filter-issues.ts";
import { MAX_ATOMS, MAX_DEPTH, MAX_NODES } from "./limits.ts";
import { nearestName } from "./nearest-name.ts";

const GROUPS = ["all", "any"] as const;
const SUBJECTS = ["header", "baggage", "key"] as const;
const TESTS = ["exists", "equals", "in", "prefix", "matches"] as const;
const KEY_TESTS = ["equals", "prefix"] as const;
const KINDS = [...GROUPS, "not", "everything", ...SUBJECTS] as const;
const FIELDS: readonly string[] = [...KINDS, ...TESTS];
const EVERYTHING = 'matching every message must be said: {"everything": true}';

type Fields = ReadonlyMap<string, unknown>;
type KeyTest = { equals: string } | { prefix: string };

/**
 * Reads a filter from a JSON value and finds everything that is wrong with its shape. What it reads is bounded, whatever
 * the value is. Where there is an issue the result is null, or not to be used.
 */
export class FilterReader {
  readonly issues = new FilterIssues();
  readonly #dialect: FilterDialect;
  readonly #compiler: TestCompiler;
  #atoms = 0;
  #nodes = 0;

  constructor(dialect: FilterDialect, compiler: TestCompiler) {
    this.#dialect = dialect;
    this.#compiler = compiler;
  }

  read(value: unknown, path: Path = []): Filter | null {
    if (!this.#count()) return null;
    // Each level that was gone down is a field of the path; the places in lists are numbers.
    if (path.filter((part) => typeof part === "string").length > MAX_DEPTH) {
      this.#add(path, `must be nested at most ${MAX_DEPTH} deep`);
      return null;
    }
    const fields = this.#fieldsOf(value, path);
    if (fields === null) return null;
    const kinds = KINDS.filter((kind) => fields.has(kind));
    const [kind] = kinds;
    if (kind === undefined) {
      // Of a field with a wrong name enough was said.
      const areTests = [...fields.keys()].every((field) => (TESTS as readonly string[]).includes(field));
      if (areTests) this.#add(path, "must say of what: header, baggage or key");
      return null;
    }
    if (kinds.length > 1) {
      this.#add(path, `must have only one of ${kinds.join(" and ")}`);
      return null;
    }
    if (kind === "header" || kind === "baggage") return this.#named(kind, fields, path);
    for (const test of TESTS) if (fields.has(test)) this.#add([...path, test], `cannot stand beside ${kind}`);
    return this.#alone(kind, fields.get(kind), path);
  }

  #alone(
    kind: Exclude<(typeof KINDS)[number], "header" | "baggage">,
    value: unknown,
    path: Path,
  ): Filter | null {
    const at = [...path, kind];
    switch (kind) {
      case "all": {
        const all = this.#list(value, at);
        return all && { all };
      }
      case "any": {
        const any = this.#list(value, at);
        return any && { any };
      }
      case "not": {
        const not = this.read(value, at);
        return not && { not };
      }
      case "everything":
        this.#countAtom();
        if (value !== true) this.#add(at, "must be true");
        return { everything: true };
      case "key":
        return this.#key(value, at);
    }
  }

  #list(value: unknown, path: Path): Filter[] | null {
    const list = this.#arrayOf(value, path, "filters");
    if (list === null) return null;
    const filters: Filter[] = [];
    for (const [index, part] of list.entries()) {
      const filter = this.read(part, [...path, index]);
      if (filter) filters.push(filter);
      if (this.#isOver) return null;
    }
    return filters;
  }

  #named(subject: "header" | "baggage", fields: Fields, path: Path): Filter | null {
    this.#countAtom();
    const name = this.#name(fields.get(subject), subject, [...path, subject]);
    const tests = TESTS.filter((test) => fields.has(test));
    if (tests.length > 1) this.#add(path, `must have only one of ${tests.join(" and ")}`);
    // Of a test with a wrong name enough was said.
    if (tests.length === 0 && fields.size === 1) this.#add(path, `must have one of ${TESTS.join(", ")}`);
    if (tests.length !== 1) return null;
    const [field] = tests as [(typeof TESTS)[number]];
    const test = this.#test(field, fields.get(field), subject, [...path, field]);
    if (name === null || test === null) return null;
    return subject === "header" ? { header: name, ...test } : { baggage: name, ...test };
  }

  #name(value: unknown, subject: Subject, path: Path): string | null {
    const name = this.#string(value, path, (text) => nameProblem(text, subject, this.#dialect));
    if (name === null || subject === "baggage" || this.#dialect !== "fairlane") return name;
    return name.toLowerCase();
  }

  #test(field: (typeof TESTS)[number], value: unknown, subject: Subject, path: Path): Test | null {
    switch (field) {
      case "exists":
        if (typeof value === "boolean") return { exists: value };
        this.#add(path, "must be true or false");
        return null;
      case "in": {
        const texts = this.#texts(value, subject, path);
        return texts && { in: texts };
      }
      case "equals": {
        const equals = this.#string(value, path, (text) => textProblem(text, subject, this.#dialect));
        return equals === null ? null : { equals };
      }
      case "prefix": {
        const prefix = this.#string(value, path, (text) => prefixProblem(text, subject, this.#dialect));
        return prefix === null ? null : { prefix };
      }
      case "matches": {
        const matches = this.#string(value, path, (text) => this.#expressionProblem(text));
        return matches === null ? null : { matches };
      }
    }
  }

  #texts(value: unknown, subject: Subject, path: Path): string[] | null {
    const list = this.#arrayOf(value, path, "strings");
    if (list === null) return null;
    const texts: string[] = [];
    for (const [index, one] of list.entries()) {
      const at = [...path, index];
      if (!this.#count()) return null;
      const text = this.#string(one, at, (given) => textProblem(given, subject, this.#dialect));
      if (text !== null) texts.push(text);
    }
    return texts;
  }

  #key(value: unknown, path: Path): Filter | null {
    this.#countAtom();
    if (this.#dialect === "rabbitmq") {
      this.#add(path, "cannot be asked about: a message of RabbitMQ has no key");
      return null;
    }
    if (typeof value === "string") {
      this.#add(path, 'must be {"equals": …} or {"prefix": …}');
      return null;
    }
    const fields = this.#fieldsOf(value, path, KEY_TESTS);
    if (fields === null) return null;
    const tests = KEY_TESTS.filter((test) => fields.has(test));
    if (tests.length > 1) this.#add(path, `must have only one of ${tests.join(" and ")}`);
    const key = tests[0] === undefined ? null : this.#keyTest(tests[0], fields.get(tests[0]), path);
    return key && { key };
  }

  #keyTest(field: (typeof KEY_TESTS)[number], value: unknown, path: Path): KeyTest | null {
    const at = [...path, field];
    if (field === "equals") {
      const equals = this.#string(value, at, (text) => keyProblem(text, this.#dialect));
      return equals === null ? null : { equals };
    }
    const prefix = this.#string(value, at, (text) => prefixProblem(text, "key", this.#dialect));
    return prefix === null ? null : { prefix };
  }

  #expressionProblem(source: string): string | null {
    if (source === "") return 'must not be empty: the empty text is {"equals": ""}';
    if (!source.isWellFormed()) return "must be well-formed Unicode: it holds a lone surrogate";
    try {
      return this.#compiler.expressionProblem(source);
    } catch (error) {
      if (!(error instanceof BeyondLimit)) throw error;
      return `is too large to be decided upon: ${error.message}`;
    }
  }

  #string(value: unknown, path: Path, problemOf: (text: string) => string | null): string | null {
    const problem = typeof value === "string" ? problemOf(value) : "must be a string";
    if (problem === null) return value as string;
    this.#add(path, problem);
    return null;
  }

  #arrayOf(value: unknown, path: Path, of: string): unknown[] | null {
    if (Array.isArray(value) && value.length > 0) return value;
    this.#add(path, `must be a list of ${of}${Array.isArray(value) ? ", and not empty" : ""}`);
    return null;
  }

  /** null: it is no object, it is empty, or it has none that are known; the unknown ones are issues. */
  #fieldsOf(value: unknown, path: Path, known = FIELDS): Fields | null {
    if (typeof value !== "object" || value === null || Array.isArray(value)) {
      this.#add(path, "must be an object");
      return null;
    }
    const fields = new Map<string, unknown>(Object.entries(value));
    if (fields.size === 0) {
      this.#add(
        path,
        known === FIELDS ? `must not be empty; ${EVERYTHING}` : `must have one of ${known.join(", ")}`,
      );
      return null;
    }
    for (const name of fields.keys())
      if (!known.includes(name)) this.#add([...path, name], unknownField(name, known));
    return fields;
  }

  get #isOver(): boolean {
    return this.#nodes > MAX_NODES;
  }

  /** Whether to read on. */
  #count(): boolean {
    if (this.#isOver) return false;
    this.#nodes += 1;
    if (this.#isOver) this.#add([], `must have at most ${MAX_NODES} conditions and texts`);
    return !this.#isOver;
  }

  #countAtom(): void {
    this.#atoms += 1;
    if (this.#atoms === MAX_ATOMS + 1) {
      this.#add([], `is too large to be decided upon: it has more than ${MAX_ATOMS} conditions`);
    }
  }

  #add(path: Path, message: string): void {
    this.issues.add(path, message);
  }
}

function unknownField(name: string, known: readonly string[]): string {
  const nearest = nearestName(name, known);
  return `is not a known field${nearest ? `: did you mean ${nearest}?` : ` of ${known.join(", ")}`}`;
}
