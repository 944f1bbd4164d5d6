/**
 * Where the messages come from. It decides which names and texts can occur:
 * - fairlane: header names without case (kept lower-cased), values without CR, LF and NUL, always a partition key;
 * - rabbitmq: names byte for byte, any text, values that are no text; no key;
 * - kafka: as rabbitmq, and a record may have a key.
 */
export type FilterDialect = "fairlane" | "rabbitmq" | "kafka";
