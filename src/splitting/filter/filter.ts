/**
 * A condition on what stands beside a message's body. The JSON form is what is stored: `parseFilter` reads it and
 * `filterText` writes it. A test other than `exists` holds only for a text: not for a header that is absent or that is
 * there with a value that is no text. `not` is the opposite, whatever the reason.
 */
export type Filter = { all: Filter[] } | { any: Filter[] } | { not: Filter } | Atom;

export type Atom =
  /** Every message: it has to be said, an empty filter is an error. */
  | { everything: true }
  /** Byte for byte as on the broker; lower-cased for a Fairlane topic. Of repeated headers the last counts. */
  | ({ header: string } & Test)
  /** A member of the W3C baggage header, percent-decoded. */
  | ({ baggage: string } & Test)
  /** The partition key of a Fairlane topic, or the record key of a Kafka topic. */
  | { key: { equals: string } | { prefix: string } };

/** Exactly one of them. */
export type Test =
  | { exists: boolean }
  | { equals: string }
  | { in: string[] }
  | { prefix: string }
  /** A regular expression of ECMA-262, flag u, for the whole value, without back-references and look-around. */
  | { matches: string };
