import { BAGGAGE_HEADER, membersOf } from "./baggage.ts";
import { type Variable, variableKey } from "./condition.ts";
import type { FilterSubject, HeaderValue } from "./subject.ts";

const NO_MEMBERS: ReadonlyMap<string, string> = new Map();

/**
 * What the filters of one table look at, read from each message at most once: a variable has a number, and what was
 * read for the message before is not read again but forgotten.
 */
export class Readings {
  readonly headerNames = new Set<string>();
  readonly #memberNames = new Set<string>();
  readonly #numbers = new Map<string, number>();
  readonly #variables: Variable[] = [];
  readonly #values: HeaderValue[] = [];
  /** The message for which each value was read. */
  readonly #readFor: number[] = [];
  #message = 0;
  #subject: FilterSubject | null = null;
  #members: ReadonlyMap<string, string> | null = null;

  /** The number of a variable; to be asked for before the first message. */
  numberOf(variable: Variable): number {
    const key = variableKey(variable);
    const known = this.#numbers.get(key);
    if (known !== undefined) return known;
    if (variable.kind === "header") this.headerNames.add(variable.name);
    if (variable.kind === "baggage") {
      this.headerNames.add(BAGGAGE_HEADER);
      this.#memberNames.add(variable.name);
    }
    const number = this.#variables.push(variable) - 1;
    this.#values.push(undefined);
    this.#readFor.push(0);
    this.#numbers.set(key, number);
    return number;
  }

  begin(subject: FilterSubject): void {
    this.#message += 1;
    this.#subject = subject;
    this.#members = null;
  }

  /** undefined: it is not there. */
  read(number: number): HeaderValue {
    if (this.#readFor[number] !== this.#message) {
      this.#values[number] = this.#valueOf(this.#variables[number] as Variable);
      this.#readFor[number] = this.#message;
    }
    return this.#values[number];
  }

  #valueOf(variable: Variable): HeaderValue {
    switch (variable.kind) {
      case "header":
        return this.#subject?.header(variable.name);
      case "key":
        return this.#subject?.key ?? undefined;
      case "baggage":
        return this.#membersOfMessage().get(variable.name);
    }
  }

  #membersOfMessage(): ReadonlyMap<string, string> {
    if (this.#members === null) {
      const header = this.#subject?.header(BAGGAGE_HEADER);
      this.#members = typeof header === "string" ? membersOf(header, this.#memberNames) : NO_MEMBERS;
    }
    return this.#members;
  }
}
