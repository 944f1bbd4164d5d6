/** A condition on what stands beside a message's body. The JSON form is canonical; it is what is stored. */
export type Filter = { all: Filter[] } | { any: Filter[] } | { not: Filter } | Atom;

export type Atom =
  /** Every message: it has to be said, an empty filter is an error. */
  | { everything: true }
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
  /** A regular expression for the whole value, without back-references and look-around. */
  | { matches: string };
