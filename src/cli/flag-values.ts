import { InvalidArgumentError } from "commander";

/** Of a flag that may be repeated: every value, in order. */
export function collect(value: string, before: string[] | undefined): string[] {
  return [...(before ?? []), value];
}

/** Of `--header name=value`, which may be repeated. */
export function collectHeader(
  text: string,
  before: Readonly<Record<string, string>> | undefined,
): Record<string, string> {
  const at = text.indexOf("=");
  if (at <= 0) throw new InvalidArgumentError("Give a header as name=value.");
  const name = text.slice(0, at).toLowerCase();
  if (before && Object.hasOwn(before, name)) throw new InvalidArgumentError(`Header ${name} is given twice.`);
  // A null prototype, so that a header may be called __proto__.
  return Object.assign(Object.create(null), before, { [name]: text.slice(at + 1) }) as Record<string, string>;
}

/** One of a few words. */
export function oneOf<Word extends string>(...words: readonly Word[]): (text: string) => Word {
  return (text) => {
    const word = words.find((one) => one === text);
    if (word === undefined) throw new InvalidArgumentError(`Give one of: ${words.join(", ")}.`);
    return word;
  };
}

export function positiveNumberFlag(text: string): number {
  const value = /^[0-9]{1,9}(\.[0-9]{1,9})?$/.test(text) ? Number(text) : Number.NaN;
  if (value > 0) return value;
  throw new InvalidArgumentError("Give a number above 0, like 2 or 1.5.");
}
