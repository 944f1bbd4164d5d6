import { describe, expect, test } from "vitest";
import { KillAudit } from "./kill-audit.ts";
import type { Delivery } from "./wire.ts";

const VISIBILITY_TIMEOUT_MS = 1000;

function delivery(place: number, attempt: number, grantedAtMs: number): Delivery {
  return {
    receipt: `r${place}-${attempt}`,
    id: `p/${place}`,
    topic: "t",
    partitionKey: "p",
    offset: place + 1,
    attempt,
    contentType: "application/json",
    headers: {},
    publishedAt: 0,
    visibleUntil: grantedAtMs + VISIBILITY_TIMEOUT_MS,
    leaseEpoch: 1,
  };
}

/** An audit of two accepted messages and one group. */
function audit(strict: boolean): KillAudit {
  const made = new KillAudit([{ name: "g", strict }], VISIBILITY_TIMEOUT_MS);
  made.published("p", 2);
  return made;
}

function acked(made: KillAudit, one: Delivery): void {
  made.delivered("g", one);
  made.ackSent("g", one);
  made.ackConfirmed("g", one);
}

describe("the auditor of the kill test", () => {
  test.each([true, false])("finds nothing where all is well (strict: %s)", (strict) => {
    const made = audit(strict);
    acked(made, delivery(0, 1, 10));
    acked(made, delivery(1, 2, 20));
    expect(made.finish()).toEqual([]);
  });

  test("finds a message that was never delivered", () => {
    const made = audit(false);
    acked(made, delivery(1, 1, 10));
    expect(made.finish()).toEqual(["g: p/0 was accepted and never delivered"]);
  });

  test("finds a confirmed ack that was undone", () => {
    const made = audit(false);
    acked(made, delivery(0, 1, 10));
    made.delivered("g", delivery(0, 2, 20));
    acked(made, delivery(1, 1, 30));
    expect(made.finish()).toEqual(["g: p/0 came again (attempt 2) after attempt 1 was acked"]);
  });

  test("finds first deliveries out of order, by the time they were granted", () => {
    const made = audit(false);
    made.delivered("g", delivery(1, 1, 10));
    made.delivered("g", delivery(0, 1, 15));
    expect(made.finish()).toEqual(["g: p/1 was granted 5 ms before p/0"]);
  });

  test("finds a first attempt made twice", () => {
    const made = audit(false);
    made.delivered("g", delivery(0, 1, 10));
    made.delivered("g", delivery(0, 1, 11));
    made.delivered("g", delivery(1, 1, 12));
    expect(made.finish()).toEqual(["g: p/0 was twice attempt 1"]);
  });

  test("finds a strict lane that went on without a settlement", () => {
    const made = audit(true);
    made.delivered("g", delivery(0, 1, 10));
    made.delivered("g", delivery(1, 1, 20));
    expect(made.finish()).toEqual(["g: p/1 was delivered while p/0 was not settled"]);
  });
});
