/** A header's value with the width that it has on the wire. */
export type HeaderValue =
  | string
  | boolean
  | null
  | Uint8Array
  | { int8: number }
  | { int64: bigint }
  | { double: number }
  | { timestamp: bigint }
  | { table: [string, HeaderValue][] }
  | { list: HeaderValue[] };

/** A message as every provider can say it. `id` is its identity in a scenario and goes with every copy. */
export interface SplitMessage {
  id: string;
  /** Names may repeat; order counts. */
  headers: [string, HeaderValue][];
  key: string | null;
  /** Null is not empty. */
  body: Uint8Array | null;
  properties: Record<string, HeaderValue>;
}
