/** What the gateway has to know of a statement before it runs it. */
export type StatementKind =
  | "begin"
  | "commit"
  | "rollback"
  /** Changes the connection for whoever gets it next, or is meant to last on it. */
  | "connection"
  /** Needs an open transaction. */
  | "savepoint"
  | "other";

/** Longer than any statement that is told apart by more than its first word. */
const HEAD_CHARS = 200;

const CONNECTION_WORDS = new Set([
  "change",
  "deallocate",
  "execute",
  "handler",
  "kill",
  "load",
  "lock",
  "prepare",
  "purge",
  "reset",
  "set",
  "shutdown",
  "unlock",
  "use",
  "xa",
]);

export function statementKind(sql: string): StatementKind {
  const start = skipComments(sql);
  // `/*! SET … */` is run by the server, whatever it holds.
  if (sql.startsWith("/*", start)) return "connection";
  const head = sql.slice(start, start + HEAD_CHARS).toLowerCase();
  const words = head.replace(/[\s;]+$/, "").split(/\s+/);
  switch (words[0]) {
    case "begin":
      return isOneOf(words, ["begin", "begin work"]) ? "begin" : "connection";
    case "start":
      return words[1] === "transaction" ? "begin" : "connection";
    case "commit":
      return isOneOf(words, ["commit", "commit work"]) ? "commit" : "connection";
    case "rollback":
      if (isOneOf(words, ["rollback", "rollback work"])) return "rollback";
      return words[1] === "to" || words[2] === "to" ? "savepoint" : "connection";
    case "savepoint":
    case "release":
      return "savepoint";
    default:
      return CONNECTION_WORDS.has(/^[a-z]*/.exec(head)?.[0] ?? "") ? "connection" : "other";
  }
}

function isOneOf(words: readonly string[], forms: readonly string[]): boolean {
  return forms.includes(words.join(" "));
}

/** Index of the first character that is neither space nor inside a leading comment. */
function skipComments(sql: string): number {
  let at = 0;
  for (;;) {
    while (at < sql.length && /\s/.test(sql[at] as string)) at++;
    let end: number;
    if (sql.startsWith("/*", at) && !/^\/\*M?!/.test(sql.slice(at, at + 4))) {
      end = sql.indexOf("*/", at + 2) + 2;
      if (end === 1) return sql.length;
    } else if (sql.startsWith("#", at) || /^--\s/.test(sql.slice(at, at + 3))) {
      end = sql.indexOf("\n", at) + 1;
      if (end === 0) return sql.length;
    } else {
      return at;
    }
    at = end;
  }
}
