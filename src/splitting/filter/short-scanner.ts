import type { Filter, Test } from "./filter.ts";

/** A condition of the short form, and where it stands. */
export interface ShortCondition {
  /** As JSON would have it: not checked. */
  filter: Filter;
  /** Of its first character, from 1. */
  position: number;
  /** Its expression was not quoted, and ends at a separator that may have been meant as a part of it. */
  mayBeCut: boolean;
}

/** The text is not of the form; `message` begins with the place. */
export class ShortFilterError extends Error {
  override name = "ShortFilterError";

  constructor(position: number, message: string) {
    super(`at character ${position}: ${message}`);
  }
}

type Operator = "=" | "^=" | "~=";
type Named = { kind: "header" | "baggage"; name: string } | { kind: "key" };

const SEPARATOR = /[\s,]/;
const OPERATOR = /[~^]?=/y;
const PLAIN_NAME = /(?:(?![~^]?=)[^\s,"])*/y;
const PLAIN_VALUE = /[^\s,"|]*/y;
const PLAIN_EXPRESSION = /[^\s,"]*/y;
const QUOTED = /"((?:[^"]|"")*)"/y;
const BETWEEN = /\s*(?:,\s*)?/y;
const BLANKS = /\s*/y;

/** Reads the conditions of a short filter one after the other. */
export class ShortScanner {
  readonly #text: string;
  #at = 0;

  constructor(text: string) {
    this.#text = text;
  }

  /** Throws ShortFilterError. */
  conditions(): ShortCondition[] {
    const found: ShortCondition[] = [];
    this.#take(BLANKS);
    do {
      found.push(this.#condition());
    } while (this.#separator());
    return found;
  }

  #condition(): ShortCondition {
    const from = this.#at;
    if (this.#next === "" || this.#next === ",") this.#fail("a condition is missing, such as x-user=alice");
    const isNegated = this.#next === "!";
    if (isNegated) this.#at++;
    const named = this.#name();
    const operator = this.#take(OPERATOR) as Operator | "";
    if (isNegated && operator !== "") {
      this.#fail("a condition with ! only asks that something is absent", from);
    }
    const position = from + 1;
    if (operator === "")
      return { filter: this.#presence(named, !isNegated, from), position, mayBeCut: false };
    const isQuoted = this.#next === '"';
    const filter =
      named.kind === "key" ? this.#keyCondition(operator) : this.#named(named, this.#test(operator));
    return { filter, position, mayBeCut: operator === "~=" && !isQuoted && this.#next !== "" };
  }

  #presence(named: Named, exists: boolean, from: number): Filter {
    if (named.kind === "key") this.#fail("key needs = or ^=; a header of that name is header:key", from);
    return this.#named(named as Exclude<Named, { kind: "key" }>, { exists });
  }

  #named({ kind, name }: Exclude<Named, { kind: "key" }>, test: Test): Filter {
    return kind === "header" ? { header: name, ...test } : { baggage: name, ...test };
  }

  #keyCondition(operator: Operator): Filter {
    if (operator === "~=") this.#fail("key has no expressions, only = and ^=");
    const from = this.#at;
    const texts = this.#values();
    if (texts.length > 1) this.#fail('key has no list of texts: quote it, or write {"any": …}', from);
    const text = texts[0] as string;
    return { key: operator === "=" ? { equals: text } : { prefix: text } };
  }

  #test(operator: Operator): Test {
    const from = this.#at;
    if (operator === "~=") return { matches: this.#value(PLAIN_EXPRESSION) };
    const texts = this.#values();
    const text = texts[0] as string;
    if (operator === "=") return texts.length === 1 ? { equals: text } : { in: texts };
    if (texts.length > 1) this.#fail("^= takes one text: quote it if it holds |", from);
    return { prefix: text };
  }

  #values(): string[] {
    const texts = [this.#value(PLAIN_VALUE)];
    while (this.#next === "|") {
      this.#at++;
      texts.push(this.#value(PLAIN_VALUE));
    }
    return texts;
  }

  #value(plain: RegExp): string {
    if (this.#next === '"') return this.#quoted();
    const from = this.#at;
    const value = this.#take(plain);
    if (this.#next === '"')
      this.#fail('a text that holds a quote is quoted, and the quote doubled: "a""b"', from);
    if (value.startsWith("=")) this.#fail("one = is enough; a text that begins with = is quoted", from);
    if (value === "")
      this.#fail('a text is missing; no spaces stand before it, and the empty one is ""', from);
    return value;
  }

  #name(): Named {
    if (this.#next === '"') return { kind: "header", name: this.#quoted() };
    const from = this.#at;
    const plain = this.#take(PLAIN_NAME);
    const [, prefix = "header", rest = plain] = /^(header|baggage):(.*)$/s.exec(plain) ?? [];
    const kind = prefix as "header" | "baggage";
    if (rest === "" && plain !== "" && this.#next === '"') return { kind, name: this.#quoted() };
    if (this.#next === '"') this.#fail("a name is quoted as a whole or not at all", from);
    if (/^(?:and|or|not)$/i.test(plain))
      this.#fail(
        `there is no word ${plain}: a comma is "and", | is "or" between texts, ! asks that a header is absent; a header of that name is quoted`,
        from,
      );
    if (kind === "header" && rest.endsWith("!") && this.#next === "=")
      this.#fail('there is no !=: write {"not": {"header": …, "equals": …}}', from);
    if (rest === "") this.#fail("a name is missing; no spaces stand between it and its sign", from);
    return plain === "key" ? { kind: "key" } : { kind, name: rest };
  }

  #quoted(): string {
    const from = this.#at;
    const whole = this.#take(QUOTED);
    if (whole === "") this.#fail("the closing quote is missing", from);
    return whole.slice(1, -1).replaceAll('""', '"');
  }

  /** Whether another condition follows. */
  #separator(): boolean {
    if (this.#next !== "" && !SEPARATOR.test(this.#next)) {
      this.#fail("after a condition comes a comma, a space or the end");
    }
    const separator = this.#take(BETWEEN);
    return this.#next !== "" || separator.includes(",");
  }

  get #next(): string {
    return this.#text.charAt(this.#at);
  }

  #take(pattern: RegExp): string {
    pattern.lastIndex = this.#at;
    const [taken = ""] = pattern.exec(this.#text) ?? [];
    this.#at += taken.length;
    return taken;
  }

  #fail(message: string, at = this.#at): never {
    throw new ShortFilterError(at + 1, message);
  }
}
