import { askedWaitMs, backoffMs, mayPass, wasNotDone } from "./backoff.ts";
import { FairlaneApiError, FairlaneNetworkError } from "./errors.ts";
import { apiError, networkError, readText, readValue, unexpected } from "./read-reply.ts";
import { type Fetch, onAbort, pause, type Surroundings } from "./surroundings.ts";

/** A token, or a function that gives one: asked before each request, and once more after a 401. */
export type TokenSource = string | (() => string | Promise<string>);

export interface CallerOptions {
  /** Without a slash at its end. */
  baseUrl: string;
  token: TokenSource | undefined;
  fetch: Fetch;
  /** For one request and its reply. */
  requestTimeoutMs: number;
  /** How long a call is tried again after its first failure; 0: not at all. */
  retryForMs: number;
}

/** One call of the API. */
export interface Call {
  method: "GET" | "POST" | "PUT" | "DELETE";
  /** From the root of the server on. */
  path: string;
  query?: Record<string, string | number | boolean | undefined>;
  /** JSON text. */
  body?: string;
  signal?: AbortSignal | undefined;
  /** In place of the caller's. */
  timeoutMs?: number;
  /**
   * When the call is made again. `safe`: after any failure that may pass, since doing it twice is doing it once.
   * `if-not-done`: only where it certainly was not carried out. `never`: the one who calls decides.
   */
  retry: "safe" | "if-not-done" | "never";
  /** Statuses of a failure that says that nothing was done, beside 429. */
  notDoneStatus?: number;
}

export interface Answer {
  /** Parsed JSON; undefined where there is no content. */
  value: unknown;
  /** Of which `value` was parsed. */
  text: string;
  response: Response;
  /** An earlier try may have been carried out although it was not answered. */
  isRepeat: boolean;
}

const BOUNDS = { initialMs: 100, maxMs: 5000 };
const MAX_TRIES = 10;

/** Carries calls out: token, deadline, retries, errors. */
export class HttpCaller {
  readonly surroundings: Surroundings;
  private readonly options: CallerOptions;
  private readonly origin: string;

  constructor(options: CallerOptions, surroundings: Surroundings) {
    this.options = options;
    this.surroundings = surroundings;
    this.origin = new URL(options.baseUrl).origin;
  }

  /**
   * The answer with status 2xx. Throws `FairlaneApiError`, `FairlaneNetworkError`, the signal's reason, or what the
   * token function threw.
   */
  async call(call: Call): Promise<Answer> {
    const { nowMs, fraction, after } = this.surroundings;
    const endMs = nowMs() + this.options.retryForMs;
    let isRepeat = false;
    for (let step = 0; ; step++) {
      try {
        return { ...(await this.authorised(call)), isRepeat };
      } catch (error) {
        if (!mayRepeat(call, error) || step + 1 >= MAX_TRIES) throw error;
        const waitMs = backoffMs(BOUNDS, step, fraction(), askedWaitMs(error));
        if (nowMs() + waitMs > endMs) throw error;
        isRepeat ||= !wasNotDone(error);
        await pause(waitMs, after, call.signal);
      }
    }
  }

  /** A token that was refused is asked for once more: the one before may have been kept too long. */
  private async authorised(call: Call): Promise<Omit<Answer, "isRepeat">> {
    const { token } = this.options;
    const first = await this.once(call, await tokenOf(token));
    if (first.response.status !== 401 || typeof token !== "function") return this.valueOf(first);
    return this.valueOf(await this.once(call, await tokenOf(token)));
  }

  private valueOf({ response, text }: { response: Response; text: string }): Omit<Answer, "isRepeat"> {
    if (response.ok) return { value: readValue(response, text), text, response };
    throw apiError(response, text, this.surroundings.epochMs());
  }

  private async once(call: Call, token: string | null): Promise<{ response: Response; text: string }> {
    call.signal?.throwIfAborted();
    const timeoutMs = call.timeoutMs ?? this.options.requestTimeoutMs;
    const controller = new AbortController();
    let isLate = false;
    const cancelDeadline = this.surroundings.after(timeoutMs, () => {
      isLate = true;
      controller.abort();
    });
    const unlisten = onAbort(call.signal, () => controller.abort());
    try {
      const init = requestInit(call, token, controller.signal);
      const response = await this.options.fetch(
        this.options.baseUrl + call.path + queryText(call.query),
        init,
      );
      return { response, text: await readText(response) };
    } catch (error) {
      call.signal?.throwIfAborted();
      if (error instanceof FairlaneApiError) throw error;
      if (isLate) {
        throw new FairlaneNetworkError(`no answer from ${this.origin} within ${timeoutMs} ms`, true, error);
      }
      throw networkError(this.origin, error);
    } finally {
      cancelDeadline();
      unlisten();
    }
  }
}

/** A list in a reply, or an error: whatever answered is not this API. */
export function listOf<T>({ value, response }: Answer, name: string): T[] {
  const list = (value as Record<string, unknown> | null | undefined)?.[name];
  if (!Array.isArray(list)) throw unexpected(response, `the reply has no list ${name}`);
  return list as T[];
}

function mayRepeat({ retry, notDoneStatus }: Call, error: unknown): boolean {
  if (retry === "never" || !mayPass(error)) return false;
  if (retry === "safe" || wasNotDone(error)) return true;
  return error instanceof FairlaneApiError && error.status === notDoneStatus;
}

function requestInit({ method, body }: Call, token: string | null, signal: AbortSignal): RequestInit {
  const headers: Record<string, string> = {};
  if (token !== null) headers.authorization = `Bearer ${token}`;
  if (body !== undefined) headers["content-type"] = "application/json";
  // A redirect would carry the request to where nobody meant it to go; not every platform knows "error".
  return { method, headers, signal, redirect: "manual", ...(body === undefined ? {} : { body }) };
}

const TOKEN_PATTERN = /^[A-Za-z0-9._-]+$/;

async function tokenOf(source: TokenSource | undefined): Promise<string | null> {
  const token = typeof source === "function" ? await source() : source;
  if (token === undefined) return null;
  // The token itself is not repeated: errors are logged.
  if (typeof token !== "string" || !TOKEN_PATTERN.test(token)) {
    throw new TypeError("the token is not one: it must be a text of letters, digits, '.', '_' and '-'");
  }
  return token;
}

function queryText(query: Call["query"] = {}): string {
  const given = Object.entries(query).filter(([, value]) => value !== undefined);
  if (given.length === 0) return "";
  return `?${given.map(([name, value]) => `${name}=${encodeURIComponent(String(value))}`).join("&")}`;
}
