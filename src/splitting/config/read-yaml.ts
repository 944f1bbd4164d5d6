import {
  type Alias,
  Composer,
  type CST,
  type Document,
  isAlias,
  isMap,
  isPair,
  isScalar,
  isSeq,
  Lexer,
  LineCounter,
  type Pair,
  Parser,
  type Scalar,
  type YAMLMap,
  type YAMLSeq,
} from "yaml";
import { type Path, type Place, quoted, type Rule } from "./issue.ts";

/** What a document of YAML is: JSON's kinds of values; mappings have no prototype. */
export type JsonObject = Record<string, unknown>;

export interface YamlDocument {
  value: unknown;
  /** Where the key, or the item, of a path stands; of a path that is not there, the nearest above it. */
  placeOf(path: Path): Place;
  /** Where the text of a literal block (`|`) begins: its places are places of the file. null: it is no such block. */
  blockAt(path: Path): Place | null;
}

export type YamlReport = (rule: Rule, place: Place, message: string) => void;

/** Deeper than any manifest: schemas in resource definitions nest some 60 levels. */
const MAX_DEPTH = 200;
/** A million is some seconds of work, and more than fits into a manifest of any use. */
const MAX_LEXEMES = 1_000_000;
const MAX_DOCUMENTS = 1000;
/** What aliases may add to a document: a few lines can else say billions. */
const MAX_ALIASED_NODES = 10_000;

const CORE_TAGS = new Set(
  ["str", "int", "float", "bool", "null", "map", "seq", "merge"].map((name) => `tag:yaml.org,2002:${name}`),
);

/**
 * The documents of a text, but for those that have errors. Everything wrong is told to `report`, in words that quote
 * no value: it may be a secret. Version 1.1 is how Kubernetes reads: there `yes` is a truth value, and `<<` merges.
 */
export function readYaml(text: string, version: "1.1" | "1.2", report: YamlReport): YamlDocument[] {
  const lines = new LineCounter();
  const placeAt = (offset: number): Place => {
    const { line, col } = lines.linePos(offset);
    return { line: Math.max(1, line), column: Math.max(1, col) };
  };
  // The library would compare every key with every other.
  const composer = new Composer({ version, uniqueKeys: false, stringKeys: false, logLevel: "silent" });
  const documents: YamlDocument[] = [];
  let read = 0;
  try {
    for (const document of composer.compose(tokensOf(text, lines))) {
      read += 1;
      if (read > MAX_DOCUMENTS) throw new TooMuch("yaml-too-many", 0, `has over ${MAX_DOCUMENTS} documents`);
      reportErrors(document, placeAt, report);
      if (document.errors.length > 0) continue;
      documents.push(new DocumentReading(document, version, text, placeAt, report).read());
    }
  } catch (error) {
    if (!(error instanceof TooMuch)) throw error;
    report(error.rule, placeAt(error.offset), error.message);
  }
  return documents;
}

/** One a line: what is said of it after the first follows from that. */
function reportErrors(
  { errors }: Document.Parsed,
  placeAt: (offset: number) => Place,
  report: YamlReport,
): void {
  const lines = new Set<number>();
  for (const { code, pos } of errors) {
    const place = placeAt(pos[0]);
    if (!lines.has(place.line)) report("yaml-syntax", place, wordsOf(code));
    lines.add(place.line);
  }
}

/** A text that goes beyond what is read. */
class TooMuch extends Error {
  override readonly name = "TooMuch";
  readonly rule: Rule;
  readonly offset: number;

  constructor(rule: Rule, offset: number, message: string) {
    super(message);
    this.rule = rule;
    this.offset = offset;
  }
}

/** Depth and number are looked at here: what comes after recurs, and could exhaust the stack. */
function* tokensOf(text: string, lines: LineCounter): Generator<CST.Token> {
  const parser = new Parser(lines.addNewLine);
  let lexemes = 0;
  lines.addNewLine(0);
  for (const lexeme of new Lexer().lex(text)) {
    yield* parser.next(lexeme);
    lexemes += 1;
    if (parser.stack.length > MAX_DEPTH) {
      throw new TooMuch("yaml-too-deep", parser.offset, `is nested over ${MAX_DEPTH} levels deep`);
    }
    if (lexemes > MAX_LEXEMES) {
      throw new TooMuch("yaml-too-many", parser.offset, `has over ${MAX_LEXEMES} parts`);
    }
  }
  yield* parser.end();
}

const WORDS: Readonly<Record<string, string>> = {
  TAB_AS_INDENT: "a tab indents here: YAML takes spaces only",
  BAD_INDENT: "the indentation is wrong",
  BAD_DQ_ESCAPE: "an escape that double quotes do not have",
  BAD_SCALAR_START: "a text cannot begin with this character: put it in quotes",
  BLOCK_AS_IMPLICIT_KEY: "a mapping begins in the middle of a line: a text with a colon needs quotes",
  MISSING_CHAR: "something is missing here: a colon, a comma, a closing quote or bracket",
  MULTILINE_IMPLICIT_KEY: "a key goes over several lines",
  BAD_ALIAS: "an alias without a name",
  BAD_DIRECTIVE: "a directive that YAML does not have",
  UNEXPECTED_TOKEN: "does not belong here",
};

/** The library's messages quote the text. */
function wordsOf(code: string): string {
  return WORDS[code] ?? "is not YAML";
}

interface Entry {
  offset: number;
  node: unknown;
}

/** One document on its way to its value. */
class DocumentReading {
  readonly #document: Document.Parsed;
  readonly #merges: boolean;
  readonly #text: string;
  readonly #placeAt: (offset: number) => Place;
  readonly #report: YamlReport;
  readonly #anchors = new Map<string, unknown>();
  /** Of each mapping and sequence, where its entries stand. */
  readonly #entries = new WeakMap<object, Map<string | number, Entry>>();
  #aliasedNodes = 0;

  constructor(
    document: Document.Parsed,
    version: "1.1" | "1.2",
    text: string,
    placeAt: (offset: number) => Place,
    report: YamlReport,
  ) {
    this.#document = document;
    this.#merges = version === "1.1";
    this.#text = text;
    this.#placeAt = placeAt;
    this.#report = report;
  }

  read(): YamlDocument {
    const { contents } = this.#document;
    const value = this.#valueOf(contents, 0, false);
    const start = offsetOf(contents);
    return {
      value,
      placeOf: (path) => this.#placeAt(this.#entryAt(value, path, false)?.offset ?? start),
      blockAt: (path) => this.#blockOf(this.#entryAt(value, path, true)?.node),
    };
  }

  #say(rule: Rule, node: unknown, message: string): void {
    this.#report(rule, this.#placeAt(offsetOf(node)), message);
  }

  #valueOf(node: unknown, depth: number, aliased: boolean): unknown {
    if (aliased) this.#aliasedNodes += 1;
    if (this.#aliasedNodes > MAX_ALIASED_NODES || depth > MAX_DEPTH) {
      throw new TooMuch("yaml-aliases", offsetOf(node), "its aliases make more of it than is read");
    }
    if (isAlias(node)) return this.#aliasValue(node, depth);
    if (!isScalar(node) && !isMap(node) && !isSeq(node)) return null;
    if (node.tag !== undefined && node.tag !== "!" && !CORE_TAGS.has(node.tag)) {
      this.#say("yaml-tag", node, `has the tag ${quoted(node.tag)}, which nothing is known of`);
      return null;
    }
    let value: unknown;
    if (isScalar(node)) value = scalarValue(node);
    else if (isMap(node)) value = this.#mapValue(node, depth, aliased);
    else value = this.#listValue(node, depth, aliased);
    // After its content: an anchor is not known within itself.
    if (node.anchor !== undefined && !aliased) this.#anchors.set(node.anchor, node);
    return value;
  }

  #aliasValue(alias: Alias, depth: number): unknown {
    const node = this.#anchors.get(alias.source);
    if (node !== undefined) return this.#valueOf(node, depth + 1, true);
    this.#say("yaml-syntax", alias, `no anchor ${quoted(alias.source)} stands before its alias`);
    return null;
  }

  #listValue(node: YAMLSeq, depth: number, aliased: boolean): unknown[] {
    const list: unknown[] = [];
    const entries = new Map<string | number, Entry>();
    for (const item of node.items) {
      entries.set(list.length, { offset: offsetOf(item), node: item });
      list.push(this.#valueOf(item, depth + 1, aliased));
    }
    this.#entries.set(list, entries);
    return list;
  }

  #mapValue(node: YAMLMap, depth: number, aliased: boolean): JsonObject {
    const map: JsonObject = Object.create(null);
    const entries = new Map<string | number, Entry>();
    const merged: Pair[] = [];
    for (const pair of node.items) {
      const { key, value } = pair;
      if (!isScalar(key) || key.value === null) {
        this.#say("yaml-syntax", key ?? node, "a key must be a text");
        continue;
      }
      if (this.#merges && key.source === "<<" && key.type === "PLAIN") {
        merged.push(pair);
        continue;
      }
      const name = String(key.value);
      if (entries.has(name)) this.#say("yaml-duplicate-key", key, `the key ${quoted(name)} stands twice`);
      entries.set(name, { offset: offsetOf(key), node: value });
      map[name] = this.#valueOf(value, depth + 1, aliased);
    }
    this.#entries.set(map, entries);
    for (const { value } of merged) this.#merge(map, entries, value, depth);
    return map;
  }

  /** What stands in the mapping itself goes before what is merged, and that before what is merged after it. */
  #merge(map: JsonObject, entries: Map<string | number, Entry>, node: unknown, depth: number): void {
    const value = this.#valueOf(node, depth + 1, true);
    for (const from of Array.isArray(value) ? value : [value]) {
      if (typeof from !== "object" || from === null || Array.isArray(from)) {
        this.#say("yaml-syntax", node, "what << merges must be a mapping");
        continue;
      }
      for (const [name, one] of Object.entries(from)) {
        if (entries.has(name)) continue;
        entries.set(name, this.#entries.get(from)?.get(name) ?? { offset: offsetOf(node), node: null });
        map[name] = one;
      }
    }
  }

  /** `exact`: null unless it is there; else the last entry on the way that is. */
  #entryAt(value: unknown, path: Path, exact: boolean): Entry | null {
    let found: Entry | null = null;
    let within = value;
    for (const step of path) {
      const isObject = typeof within === "object" && within !== null;
      const entry = isObject ? this.#entries.get(within as object)?.get(step) : undefined;
      if (entry === undefined) return exact ? null : found;
      found = entry;
      within = (within as Record<string | number, unknown>)[step];
    }
    return found;
  }

  #blockOf(node: unknown): Place | null {
    const target = isAlias(node) ? this.#anchors.get(node.source) : node;
    if (!isScalar(target) || target.type !== "BLOCK_LITERAL" || typeof target.value !== "string") return null;
    const header = this.#placeAt(offsetOf(target));
    const value = target.value.split("\n");
    const first = value.findIndex((line) => line.trim() !== "");
    if (first < 0) return null;
    const source = this.#text.slice(offsetOf(target)).split("\n", first + 2)[first + 1] ?? "";
    const indent = source.replace(/\r$/, "").length - (value[first] ?? "").length;
    return { line: header.line + 1, column: Math.max(0, indent) + 1 };
  }
}

function scalarValue({ value, source }: Scalar): unknown {
  // Kubernetes leaves what looks like a date a text.
  return value instanceof Date ? (source ?? "") : value;
}

function offsetOf(node: unknown): number {
  if (isPair(node)) return offsetOf(node.key);
  if (isScalar(node) || isMap(node) || isSeq(node) || isAlias(node)) return node.range?.[0] ?? 0;
  return 0;
}
