/** The lexical parts of MySQL's SQL, as far as the shard linter and the statement collector need them. */
export type SqlTokenKind =
  | "word"
  | "quoted"
  | "string"
  | "number"
  | "hex"
  | "param"
  | "comment"
  | "punctuation";

export interface SqlToken {
  kind: SqlTokenKind;
  /** As written. A quoted identifier keeps its backticks. */
  text: string;
}

const SPACE = /[\s\uFEFF]+/y;
const LINE_COMMENT = /(?:--(?=\s|$)|#)[^\n]*/y;
const BLOCK_COMMENT = /\/\*[\s\S]*?\*\//y;
/** Where a string starts: its character set, if any, and the quote. */
const STRING_START = /(?:[nN]|_[a-zA-Z0-9]+\s*)?(['"])/y;
const HEX = /0x[0-9a-fA-F]*|[xXbB]'[0-9a-fA-F]*'/y;
const NUMBER = /(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][-+]?[0-9]+)?(?![A-Za-z_$])/y;
const QUOTED = /`(?:[^`]|``)+`/y;
const WORD = /@{0,2}[A-Za-z_$\u0080-\uFFFF][A-Za-z0-9_$\u0080-\uFFFF]*/y;
const PUNCTUATION = /<=>|->>|->|<=|>=|<>|!=|:=|\|\||&&|<<|>>|[-+*/%=<>(),.;!&|^~:@]/y;

const FORMS: readonly [SqlTokenKind | "space", RegExp][] = [
  ["space", SPACE],
  ["comment", BLOCK_COMMENT],
  ["comment", LINE_COMMENT],
  ["hex", HEX],
  ["quoted", QUOTED],
  ["number", NUMBER],
  ["word", WORD],
  ["param", /\?/y],
  ["punctuation", PUNCTUATION],
];

/** Throws `SyntaxError` at the first character that starts no token, such as an open string. */
export function sqlTokens(sql: string): SqlToken[] {
  const tokens: SqlToken[] = [];
  let at = 0;
  while (at < sql.length) {
    const token = tokenAt(sql, at);
    if (!token) throw new SyntaxError(`no SQL token at character ${at}: ${sql.slice(at, at + 40)}`);
    if (token.kind !== "space") tokens.push({ kind: token.kind, text: token.text });
    at += token.text.length;
  }
  return tokens;
}

function tokenAt(sql: string, at: number): { kind: SqlTokenKind | "space"; text: string } | null {
  HEX.lastIndex = at;
  const string = HEX.test(sql) ? null : stringAt(sql, at);
  if (string !== null) return { kind: "string", text: string };
  for (const [kind, form] of FORMS) {
    form.lastIndex = at;
    const text = form.exec(sql)?.[0];
    if (text) return { kind, text };
  }
  return null;
}

/** By hand: an expression that backtracks runs out of stack on a body of a megabyte. */
function stringAt(sql: string, at: number): string | null {
  STRING_START.lastIndex = at;
  const start = STRING_START.exec(sql);
  if (!start) return null;
  const quote = start[1] as string;
  const special = quote === "'" ? /['\\]/g : /["\\]/g;
  special.lastIndex = at + start[0].length;
  for (let found = special.exec(sql); found; found = special.exec(sql)) {
    const isEscape = found[0] === "\\" || sql[found.index + 1] === quote;
    if (!isEscape) return sql.slice(at, found.index + 1);
    special.lastIndex = found.index + 2;
  }
  return null;
}

/** One space between tokens: two texts that differ in white space alone come out the same. */
export function joinTokens(tokens: readonly SqlToken[]): string {
  return tokens.map(({ text }) => text).join(" ");
}

export function isWord(token: SqlToken | undefined, word: string): boolean {
  return token?.kind === "word" && token.text.toUpperCase() === word;
}

/** The index of the parenthesis that closes the one at `open`, or of the last token where none does. */
export function closingIndex(tokens: readonly SqlToken[], open: number): number {
  let depth = 0;
  for (let index = open; index < tokens.length; index++) {
    const text = tokens[index]?.kind === "punctuation" ? tokens[index]?.text : "";
    if (text === "(") depth++;
    if (text === ")" && --depth === 0) return index;
  }
  return tokens.length - 1;
}
