/**
 * Reads JSON so that writing it again changes no number: `JSON.parse` alone turns 9007199254740993 into ...992 and
 * 1.0 into 1, and the queue promises to keep what was published.
 */

/** Newer than the library that the compiler knows; Node has both since 21. */
interface ExactJson {
  parse(
    text: string,
    reviver: (key: string, value: unknown, context?: { source?: string }) => unknown,
  ): unknown;
  rawJSON?(source: string): unknown;
}
const exact = JSON as unknown as ExactJson;

/** A number that this Node cannot pass on as it was written. */
export class InexactNumber extends Error {
  override readonly name = "InexactNumber";
}

/** Throws a SyntaxError where the text is not JSON, and InexactNumber where an older Node would change a value. */
export function parseExactJson(text: string): unknown {
  const { rawJSON } = exact;
  if (rawJSON === undefined) return parseOrRefuse(text);
  return exact.parse(text, (_key, value, context) => {
    if (typeof value !== "number" || context?.source === undefined) return value;
    return JSON.stringify(value) === context.source ? value : rawJSON.call(JSON, context.source);
  });
}

const STRING_OR_NUMBER = /"(?:[^"\\]|\\.)*"|-?[0-9][0-9.eE+-]*/g;

function parseOrRefuse(text: string): unknown {
  const value: unknown = JSON.parse(text);
  for (const [token] of text.matchAll(STRING_OR_NUMBER)) {
    if (!token.startsWith('"') && !isKept(token)) throw new InexactNumber();
  }
  return value;
}

/** 1.0 and 1 are one number; a digit that is lost is not. */
function isKept(token: string): boolean {
  return digitsOf(token) === digitsOf(JSON.stringify(Number(token)));
}

/** The significant digits and the power of ten behind them, whatever way they are written in. */
function digitsOf(token: string): string {
  const match = /^(-?)([0-9]+)(?:\.([0-9]+))?(?:[eE]([+-]?[0-9]+))?$/.exec(token);
  if (!match) return token;
  const [, sign = "", whole = "", fraction = "", power = "0"] = match;
  const all = (whole + fraction).replace(/^0+/, "");
  const digits = all.replace(/0+$/, "");
  if (digits === "") return "0";
  return `${sign}${digits}e${Number(power) - fraction.length + (all.length - digits.length)}`;
}
