import fc from "fast-check";
import { expect, test } from "vitest";
import {
  groupProblem,
  keyProblem,
  namedKeyProblem,
  publishedKeyProblem,
  routeProblem,
  subscriberProblem,
  tenantProblem,
  topicProblem,
} from "../../../src/core/names.ts";
import { isDeadLetterTopic } from "../../../src/core/settings.ts";
import { decodeBase64 } from "../../../src/protocol/base64.ts";
import {
  contentType,
  groupName,
  messageId,
  namedKey,
  originalTopicName,
  publishedKey,
  routeName,
  subscriberName,
  tenantName,
  topicName,
} from "../../../src/protocol/fields.ts";
import { SchemaCollection } from "../../../src/protocol/json-schema.ts";
import { headerIssues } from "../../../src/protocol/message-headers.ts";
import { publishRequest } from "../../../src/protocol/publish.ts";
import { Contract, type OpenApi, type Schema } from "../../live/openapi-document.ts";
import { ODD_TEXTS } from "../../live/openapi-faults.ts";

// What the document says of a text, and what the server does with it, are written twice: they must agree on every text.

/** The same cases for everyone unless asked otherwise, as in test/property. */
const SEED = Number(process.env.PROPERTY_SEED ?? 20_260_517);
const FACTOR = Number(process.env.PROPERTY_FACTOR ?? 1);

const contract = new Contract({ openapi: "3.1.0", paths: {} } as unknown as OpenApi);
const documented = (schema: Parameters<SchemaCollection["of"]>[0]) =>
  new SchemaCollection().of(schema, "input");
const bytesMessage = (
  documented(publishRequest) as {
    properties: { messages: { items: { oneOf: { properties: Record<string, Schema> }[] } } };
  }
).properties.messages.items.oneOf[1]?.properties;

const originalTopicProblem = (text: string) => (isDeadLetterTopic(text) ? "is one" : topicProblem(text));

const RULES: [string, Schema, (text: string) => unknown][] = [
  ["tenant", documented(tenantName), tenantProblem],
  ["topic", documented(topicName), topicProblem],
  ["topic of a publish", documented(originalTopicName), originalTopicProblem],
  ["group", documented(groupName), groupProblem],
  ["subscriber", documented(subscriberName), subscriberProblem],
  ["route", documented(routeName), routeProblem],
  ["message ID", documented(messageId), keyProblem],
  ["partition key of a publish", documented(publishedKey), publishedKeyProblem],
  ["partition key", documented(namedKey), namedKeyProblem],
  [
    "content type",
    documented(contentType),
    (text) => (contentType.safeParse(text).success ? null : "is none"),
  ],
  ["base64", bytesMessage?.bodyBase64 ?? {}, (text) => (decodeBase64(text) === null ? "is none" : null)],
];

const text = fc.oneof(
  fc.constantFrom(...ODD_TEXTS, ...ODD_TEXTS.map((odd) => `a${odd}`)),
  fc.string({ unit: fc.constantFrom(..."ab0._-~ A\0\n\ud800é🚚="), maxLength: 6 }),
  fc.string({ unit: "binary", maxLength: 6 }),
  fc.string({ unit: fc.constantFrom(..."abz09._-"), minLength: 1, maxLength: 8 }),
  fc.string({ unit: fc.constantFrom(..."AQIgwz09+/="), maxLength: 9 }),
  fc.integer({ min: 0, max: 20 }).map((lane) => `~${lane}`),
  fc.integer({ min: 60, max: 130 }).map((length) => "a".repeat(length)),
  fc.integer({ min: 120, max: 130 }).map((length) => `${"a".repeat(length)}_dlq`),
  fc.integer({ min: 254, max: 256 }).map((length) => "🚚".repeat(length)),
);

test.each(RULES)("%s: the document and the server agree", (_, schema, problemOf) => {
  expect(schema).toHaveProperty("pattern");
  let accepted = 0;
  fc.assert(
    fc.property(text, (given) => {
      const isValid = contract.isValid(schema, given);
      if (isValid) accepted += 1;
      expect(isValid, JSON.stringify(given)).toBe(problemOf(given) === null);
    }),
    { seed: SEED, numRuns: 1000 * FACTOR },
  );
  expect(accepted).toBeGreaterThan(50);
});

test("headers: the document and the server agree on names and values", () => {
  const schema = bytesMessage?.headers ?? {};
  let accepted = 0;
  fc.assert(
    fc.property(fc.oneof(text, fc.constantFrom("x-dev", "A", "__proto__")), text, (name, value) => {
      const headers = Object.fromEntries([[name, value]]);
      const isValid = contract.isValid(schema, headers);
      if (isValid) accepted += 1;
      const expected = headerIssues(Object.entries(headers)).length === 0;
      expect(isValid, JSON.stringify(headers)).toBe(expected);
    }),
    { seed: SEED, numRuns: 1000 * FACTOR },
  );
  expect(accepted).toBeGreaterThan(50);
});
