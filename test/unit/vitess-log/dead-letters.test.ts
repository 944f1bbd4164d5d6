import { expect, test } from "vitest";
import type { DeadLetterCopy } from "../../../src/log/message-log.ts";
import { VitessLog } from "../../../src/log/vitess/vitess-log.ts";
import { duplicateOf, type Reply, scriptedDatabase, tabletError } from "./scripted-database.ts";

const TOO_LARGE = tabletError(1153, "Got a packet bigger than max_allowed_packet", "ResourceExhausted");

function copyOf(offset: number, origin = `o${offset}`): DeadLetterCopy {
  return { offset, group: "billing", attempts: 1, failedAtMs: 1, reason: "r", origin };
}

function copied(count: number): Reply {
  return { result: { rowsAffected: String(count) } };
}

async function copy(replies: Reply[], copies: DeadLetterCopy[]) {
  const { database, requests } = scriptedDatabase(replies);
  database.knownTopics.add("acme", "orders_dlq");
  const log = new VitessLog("acme", database, { commitHorizonMs: 0 });
  const outcome = await log.copyToDeadLetters("orders", copies).catch((error) => error);
  return { outcome, sent: requests.map(({ sql }) => sql) };
}

test("a hundred copies are one statement", async () => {
  const copies = Array.from({ length: 100 }, (_, offset) => copyOf(offset));
  const { outcome, sent } = await copy([copied(100)], copies);
  expect(outcome).toEqual({ copied: 100 });
  expect(sent).toHaveLength(1);
});

test("more are sent in parts", async () => {
  const copies = Array.from({ length: 201 }, (_, offset) => copyOf(offset));
  const { outcome, sent } = await copy([copied(100), copied(100), copied(1)], copies);
  expect(outcome).toEqual({ copied: 201 });
  expect(sent).toHaveLength(3);
});

test("two failures of one message are not in one statement", async () => {
  const { sent } = await copy([copied(2), copied(1)], [copyOf(1, "a"), copyOf(2), copyOf(1, "b")]);
  expect(sent).toHaveLength(2);
  expect(sent[0]).toContain("'a'");
  expect(sent[0]).not.toContain("'b'");
  expect(sent[1]).toContain("'b'");
});

test("what is too large for one statement goes in halves, in order", async () => {
  const { outcome, sent } = await copy(
    [TOO_LARGE, copied(2), TOO_LARGE, copied(1), copied(1)],
    [1, 2, 3, 4].map((offset) => copyOf(offset)),
  );
  expect(outcome).toEqual({ copied: 4 });
  expect(sent.slice(1).map((sql) => sql.match(/'o[1-4]'/g)?.at(-1))).toEqual([
    "'o2'",
    "'o4'",
    "'o3'",
    "'o4'",
  ]);
});

test("a single one that is too large is a failure", async () => {
  const { outcome } = await copy([TOO_LARGE], [copyOf(1)]);
  expect(outcome).toMatchObject({ failure: { code: "payload-too-large" } });
});

test("a collision is tried again, not for ever", async () => {
  const again = await copy([duplicateOf("PRIMARY"), copied(1)], [copyOf(1)]);
  expect(again.outcome).toEqual({ copied: 1 });
  const ever = await copy(Array(50).fill(duplicateOf("PRIMARY")), [copyOf(1)]);
  expect(ever.outcome).toMatchObject({ failure: { code: "store-unavailable" } });
  expect(ever.sent.length).toBeLessThan(10);
});
