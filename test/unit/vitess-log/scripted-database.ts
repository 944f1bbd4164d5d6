import { DatabaseError } from "@planetscale/database";
import { Database, type DatabaseOptions } from "../../../src/log/vitess/database.ts";
import { type DatabaseFailure, failureOf } from "../../../src/log/vitess/database-failure.ts";

/** What the server does with one request. */
export type Reply =
  | { result?: object; timing?: number }
  | { error: { code: string; message: string } }
  | { status: number; text: string }
  /** The connection breaks; the reply, if there was one, is lost. */
  | "reset"
  /** Never answers. */
  | "silence";

export interface Request {
  url: string;
  sql: string;
  session: unknown;
  headers: Record<string, string>;
}

export const URL_OF_TESTS = "http://ann:p%40ss-w%C3%B6rd@127.0.0.1:9";
export const DONE: Reply = { result: {} };

/** A database whose server answers by a script; waits are noted, not waited. */
export function scriptedDatabase(replies: Reply[], options: DatabaseOptions = {}) {
  const requests: Request[] = [];
  const waits: number[] = [];
  let nowMs = 0;
  const clock = {
    step: (ms: number) => {
      nowMs += ms;
    },
  };
  const fetch = async (url: string, init: RequestInit): Promise<Response> => {
    const { query, session } = JSON.parse(String(init.body)) as { query: string; session: unknown };
    requests.push({ url, sql: query, session, headers: init.headers as Record<string, string> });
    const reply = replies.shift();
    if (reply === undefined) throw new Error("the script has ended");
    if (reply === "reset") throw new TypeError("fetch failed");
    if (reply === "silence") return await silence(init.signal as AbortSignal);
    if ("status" in reply) return new Response(reply.text, { status: reply.status });
    return Response.json({ session: { id: requests.length }, ...reply });
  };
  const ports = {
    fetch,
    sleep: async (ms: number) => {
      waits.push(ms);
      nowMs += ms;
    },
    chance: () => 0.5,
    nowMs: () => nowMs,
    ...options.ports,
  };
  const database = new Database({ url: URL_OF_TESTS }, { ...options, ports });
  return { database, requests, waits, clock, left: replies };
}

function silence(signal: AbortSignal): Promise<never> {
  return new Promise((_, reject) => {
    signal.addEventListener("abort", () => reject(signal.reason));
  });
}

/** A statement's failure as a tablet tells it. */
export function tabletError(errno: number, words: string, rpcCode = "Unknown"): Reply {
  return { error: { code: "UNKNOWN", message: tabletMessage(errno, words, rpcCode) } };
}

export function tabletMessage(errno: number, words: string, rpcCode = "Unknown"): string {
  return (
    `target: db.-.primary: vttablet: rpc error: code = ${rpcCode} desc = ${words} ` +
    `(errno ${errno}) (sqlstate HY000) (CallerID: ann)`
  );
}

export function duplicateOf(key: string, entry = "x"): Reply {
  return tabletError(1062, `Duplicate entry '${entry}' for key '${key}'`, "AlreadyExists");
}

/** A result as the protocol carries it. Values are text; null is NULL. */
export function resultOf(
  fields: { name: string; type: string; charset?: number }[],
  rows: (string | null)[][],
): { result: object } {
  const encoded = rows.map((values) => ({
    lengths: values.map((value) => String(value === null ? -1 : Buffer.byteLength(value))),
    values: Buffer.from(values.map((value) => value ?? "").join("")).toString("base64"),
  }));
  return { result: { fields, rows: encoded } };
}

/** How the classifier reads a tablet's message. */
export function failureOfMessage(message: string, code = "UNKNOWN"): DatabaseFailure {
  return failureOf(new DatabaseError(message, 400, { code, message }), false);
}
