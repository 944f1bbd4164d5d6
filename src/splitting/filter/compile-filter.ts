import { TestCompiler } from "./compile-test.ts";
import { conditionOf } from "./condition.ts";
import type { Filter } from "./filter.ts";
import { Readings } from "./readings.ts";
import type { FilterSubject } from "./subject.ts";

export interface CompiledFilter {
  /** Total, deterministic, and linear in the size of the headers and the key that the filter names. */
  matches(subject: FilterSubject): boolean;
}

/** About the message that the readings are of. */
export type Matcher = (readings: Readings) => boolean;

/** The filter is one that `parseFilter` gave; throws BeyondLimit or an assertion for another. */
export function compileFilter(filter: Filter): CompiledFilter {
  const readings = new Readings();
  const matcher = matcherOf(filter, readings, new TestCompiler(1));
  return {
    matches(subject) {
      readings.begin(subject);
      return matcher(readings);
    },
  };
}

export function matcherOf(filter: Filter, readings: Readings, compiler: TestCompiler): Matcher {
  if ("not" in filter) {
    const matcher = matcherOf(filter.not, readings, compiler);
    return (message) => !matcher(message);
  }
  if ("all" in filter) {
    const matchers = filter.all.map((part) => matcherOf(part, readings, compiler));
    return (message) => matchers.every((matcher) => matcher(message));
  }
  if ("any" in filter) {
    const matchers = filter.any.map((part) => matcherOf(part, readings, compiler));
    return (message) => matchers.some((matcher) => matcher(message));
  }
  if ("everything" in filter) return () => true;
  const { variable, test, negated } = conditionOf(filter, false);
  const number = readings.numberOf(variable);
  if (test === null) return (message) => (message.read(number) === undefined) === negated;
  const compiled = compiler.compile(test);
  return (message) => {
    const value = message.read(number);
    return typeof value === "string" && compiled.holds(value);
  };
}
