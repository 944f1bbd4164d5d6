import { closingIndex, isWord, type SqlToken, sqlTokens } from "./sql-tokens.ts";

/** Functions with as many arguments as the caller has values. */
const VARIADIC = new Set(["in", "field", "elt", "coalesce", "greatest", "least"]);
const VALUES_OF_THEIR_OWN = new Set(["null", "true", "false"]);

/**
 * What a statement is without its values: every literal, number, parameter and NULL is `?`, and what is repeated for
 * each value stands at most twice: members of an IN list, rows of VALUES, arms of a UNION ALL or OR, WHEN branches. So a listed
 * statement with `?` and a sent one with its values filled in come out the same, whatever their sizes.
 * Throws `SyntaxError` on what is no SQL.
 */
export function shapeOf(sql: string): string {
  const tokens = sqlTokens(sql).filter(({ kind }) => kind !== "comment");
  if (tokens.at(-1)?.text === ";") tokens.pop();
  return sequence(tokens.map(valueless).filter(dropSigns), null);
}

function valueless(token: SqlToken): SqlToken {
  const isValue =
    ["string", "number", "hex"].includes(token.kind) ||
    (token.kind === "word" && VALUES_OF_THEIR_OWN.has(token.text.toLowerCase()));
  if (isValue) return { kind: "param", text: "?" };
  if (token.kind === "quoted") return { kind: "word", text: token.text.slice(1, -1).toLowerCase() };
  return token.kind === "word" ? { kind: "word", text: token.text.toLowerCase() } : token;
}

/** A minus that belongs to the value behind it, as nothing to subtract from is before it. */
function dropSigns(token: SqlToken, at: number, tokens: readonly SqlToken[]): boolean {
  if (token.text !== "-" || tokens[at + 1]?.kind !== "param") return true;
  const before = tokens[at - 1];
  return before?.kind === "word" || before?.kind === "param" || before?.text === ")";
}

/** `under`: the word before the parenthesis that holds these tokens. */
function sequence(tokens: readonly SqlToken[], under: string | null): string {
  const parts: string[] = [];
  for (let at = 0; at < tokens.length; at++) {
    const token = tokens[at] as SqlToken;
    if (token.text !== "(") {
      parts.push(token.text);
      continue;
    }
    const end = closingIndex(tokens, at);
    const before = tokens[at - 1]?.kind === "word" ? (tokens[at - 1]?.text ?? null) : null;
    const group = `(${sequence(tokens.slice(at + 1, end), before)})`;
    if (before === "row") parts.push(`${parts.pop()}${group}`);
    else parts.push(group);
    at = end;
  }
  const isList = under !== null && VARIADIC.has(under);
  const openings = ["when", "or", "union all"];
  return openings.reduce(once, onceEach(parts, isList)).join(" ");
}

/** Drops what equals its neighbour across a comma or an OR: members of a list, or parts in parentheses. */
function onceEach(parts: readonly string[], isList: boolean): string[] {
  const kept: string[] = [];
  for (let at = 0; at < parts.length; at++) {
    const [separator = "", next = ""] = [parts[at] ?? "", parts[at + 1] ?? ""];
    const canRepeat = isList || next.endsWith(")");
    const isBetween = separator === "," && canRepeat && kept.at(-1) === next;
    // A member of several parts is not looked into: it stays as often as it stands.
    if (isBetween && !(isList && ![",", undefined].includes(parts[at + 2]))) at++;
    else kept.push(separator);
  }
  return kept;
}

/** Drops a chunk that equals the one before it; chunks begin at the word, or words. */
function once(parts: readonly string[], opening: string): string[] {
  const words = opening.split(" ");
  const chunks: string[][] = [[]];
  for (const [at, part] of parts.entries()) {
    const isOpening = words.every((word, place) => parts[at + place] === word);
    const isEnd = opening === "when" && (part === "else" || part === "end");
    if (isOpening || isEnd) chunks.push([]);
    chunks.at(-1)?.push(part);
  }
  return chunks.filter((chunk, at) => at === 0 || chunk.join(" ") !== chunks[at - 1]?.join(" ")).flat();
}

/** The tenants that a statement names with their values: as written, after `tenant =` and in rows of an INSERT. */
export function tenantsNamed(sql: string): Set<string> {
  const tokens = sqlTokens(sql).filter(({ kind }) => kind !== "comment");
  const found = new Set<string>();
  for (const [at, token] of tokens.entries()) {
    if (!isWord(token, "TENANT") || tokens[at + 1]?.text !== "=") continue;
    const value = tokens[at + 2];
    if (value && ["string", "hex", "number"].includes(value.kind)) found.add(value.text);
  }
  if (!isWord(tokens[0], "INSERT")) return found;
  const open = tokens.findIndex(({ text }) => text === "(");
  const close = closingIndex(tokens, open);
  const place = split(tokens.slice(open + 1, close)).findIndex(([name]) => isWord(name, "TENANT"));
  if (!isWord(tokens[close + 1], "VALUES") || place < 0) return found;
  for (let at = close + 2; tokens[at]?.text === "("; ) {
    const end = closingIndex(tokens, at);
    const value = split(tokens.slice(at + 1, end))[place] ?? [];
    found.add(value.map(({ text }) => text).join(" "));
    at = end + (tokens[end + 1]?.text === "," ? 2 : 1);
  }
  return found;
}

/** By the commas that are in no parentheses. */
function split(tokens: readonly SqlToken[]): SqlToken[][] {
  const parts: SqlToken[][] = [[]];
  let depth = 0;
  for (const token of tokens) {
    if (token.text === "(") depth++;
    if (token.text === ")") depth--;
    if (token.text === "," && depth === 0) parts.push([]);
    else parts.at(-1)?.push(token);
  }
  return parts;
}
