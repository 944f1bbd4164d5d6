/**
 * Throws `TypeError` for what is no object and for options that do not exist, so that a misspelt one is not ignored.
 *
 * @param what takes the options, e.g. `consume`
 */
export function checkOptions(what: string, options: unknown, names: readonly string[]): void {
  if (typeof options !== "object" || options === null) {
    throw new TypeError(`${what} needs an object of options: ${names.join(", ")}`);
  }
  for (const name of Object.keys(options)) {
    if (names.includes(name)) continue;
    throw new TypeError(`${name} is not an option of ${what}, which has ${names.join(", ")}`);
  }
}
