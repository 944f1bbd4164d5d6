import fc from "fast-check";

/**
 * Source texts of JSON values as people and programs write them: odd white space, escapes, repeated names,
 * numbers that no double holds.
 */
export const whiteSpace = fc.string({ unit: fc.constantFrom(" ", "\t", "\n", "\r"), maxLength: 3 });

const stringPart = fc.oneof(
  {
    weight: 4,
    arbitrary: fc
      .string({ unit: "binary", maxLength: 5 })
      .map((s) => JSON.stringify(s.toWellFormed()).slice(1, -1)),
  },
  {
    weight: 2,
    arbitrary: fc.constantFrom("\\ud800", "\\uDC00", "\\u0000", "\\/", "\\\\", '\\"', "{", "]", ",", ":"),
  },
);
const stringSource = fc.array(stringPart, { maxLength: 5 }).map((parts) => `"${parts.join("")}"`);
const nameSource = fc.oneof(
  stringSource,
  fc.constantFrom('"__proto__"', '"body"', '"messages"', '"a"', '""'),
);
const scalarSource = fc.oneof(
  stringSource,
  fc.constantFrom("null", "true", "false", "1.0", "-0", "1e400", "-1E-7", "12345678901234567890", "0.10"),
  fc.integer().map(String),
  fc.double({ noDefaultInfinity: true, noNaN: true }).map((n) => JSON.stringify(n)),
);

export const spaced = (source: string, gap: string) => `${gap}${source}${gap}`;

export const jsonSource: fc.Arbitrary<string> = fc.letrec<{ value: string; list: string; object: string }>(
  (tie) => ({
    value: fc.oneof({ depthSize: "small", withCrossShrink: true }, scalarSource, tie("list"), tie("object")),
    list: fc
      .tuple(fc.array(tie("value"), { maxLength: 4 }), whiteSpace)
      .map(([values, gap]) => `[${values.map((value) => spaced(value, gap)).join(",")}]`),
    object: fc
      .tuple(fc.array(fc.tuple(nameSource, tie("value")), { maxLength: 4 }), whiteSpace)
      .map(
        ([fields, gap]) =>
          `{${gap}${fields.map(([name, value]) => `${name}${gap}:${value}`).join(`,${gap}`)}}`,
      ),
  }),
).value;
