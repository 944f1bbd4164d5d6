/** The value of a header that is there and is no text: it exists and equals nothing. */
export const OPAQUE: unique symbol = Symbol("opaque");

/** undefined: there is none. */
export type HeaderValue = string | typeof OPAQUE | undefined;

/** What a filter may look at of one message. */
export interface FilterSubject {
  header(name: string): HeaderValue;
  /** null: there is none, or one that is no text. */
  readonly key: string | null;
}

/** Of headers as parsed JSON: names in lower case, values that are strings. Only own properties are headers. */
export function objectSubject(headers: Readonly<Record<string, unknown>>, key: string | null): FilterSubject {
  return new ObjectSubject(headers, key);
}

/**
 * Of a message of a broker: the last of repeated headers counts. A value is text if it is a well-formed string or bytes
 * in UTF-8; anything else (a number, a table, null) is there and no text.
 */
export function pairsSubject(
  pairs: readonly (readonly [name: string, value: unknown])[],
  key: string | Uint8Array | null,
): FilterSubject {
  const text = key === null ? null : textOf(key);
  return new PairsSubject(pairs, text === OPAQUE ? null : text);
}

class ObjectSubject implements FilterSubject {
  readonly key: string | null;
  readonly #headers: Readonly<Record<string, unknown>>;

  constructor(headers: Readonly<Record<string, unknown>>, key: string | null) {
    this.#headers = headers;
    this.key = key;
  }

  header(name: string): HeaderValue {
    if (!Object.hasOwn(this.#headers, name)) return undefined;
    const value = this.#headers[name];
    return typeof value === "string" ? value : OPAQUE;
  }
}

class PairsSubject implements FilterSubject {
  readonly key: string | null;
  readonly #pairs: readonly (readonly [name: string, value: unknown])[];

  constructor(pairs: readonly (readonly [name: string, value: unknown])[], key: string | null) {
    this.#pairs = pairs;
    this.key = key;
  }

  header(name: string): HeaderValue {
    const pair = this.#pairs.findLast(([other]) => other === name);
    return pair && textOf(pair[1]);
  }
}

const decoder = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

function textOf(value: unknown): string | typeof OPAQUE {
  if (typeof value === "string") return value.isWellFormed() ? value : OPAQUE;
  if (!(value instanceof Uint8Array)) return OPAQUE;
  try {
    return decoder.decode(value);
  } catch (error) {
    if (error instanceof TypeError) return OPAQUE;
    throw error;
  }
}
