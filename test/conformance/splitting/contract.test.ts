import { describe, expect, test } from "vitest";
import { checkpointOf, frontierOf } from "../../../src/splitting/engine.ts";
import * as failures from "../../../src/splitting/engine-failures.ts";
import { EngineFailure, type Fenced, NeedsDrain } from "../../../src/splitting/engine-failures.ts";
import {
  AbsenceProof,
  PROOF_LIFETIME_MS,
  QuiescenceProof,
  type QuiescenceReading,
} from "../../../src/splitting/quiescence-proof.ts";
import { FAILURE_KINDS } from "../../../src/splitting/state/failure-kind.ts";
import { MAX_POSITION_BYTES } from "../../../src/splitting/state/split-limits.ts";

const NOW_MS = 1_000;
const QUIET: QuiescenceReading = { ready: 0, unsettled: 0, consumers: 0 };

function check(reading: QuiescenceReading): Promise<QuiescenceProof | EngineFailure> {
  return QuiescenceProof.check("orders", "shadow", async () => reading, NOW_MS);
}

async function proof(): Promise<QuiescenceProof> {
  const made = await check(QUIET);
  if (!(made instanceof QuiescenceProof)) throw made;
  return made;
}

describe("a proof of quiescence", () => {
  test.each([
    [{ ...QUIET, ready: 1 }, "NeedsDrain"],
    [{ ...QUIET, unsettled: 1 }, "NeedsDrain"],
    [{ ...QUIET, consumers: 1 }, "ConsumerAttached"],
    [{ ready: 5, unsettled: 5, consumers: 1 }, "ConsumerAttached"],
    [{ ...QUIET, ready: null }, "Unprovable"],
    [{ ...QUIET, unsettled: null }, "Unprovable"],
    [{ ...QUIET, consumers: null }, "Unprovable"],
    [{ ready: 1, unsettled: null, consumers: 1 }, "Unprovable"],
  ] satisfies [QuiescenceReading, string][])("is not made of %j: %s", async (reading, kind) => {
    expect(await check(reading)).toMatchObject({ kind });
  });

  test("is used once", async () => {
    const made = await proof();
    made.use("orders", "shadow", NOW_MS);
    expect(() => made.use("orders", "shadow", NOW_MS)).toThrow("used already");
  });

  test("is of one resource, and not used up by another", async () => {
    const made = await proof();
    expect(() => made.use("orders", "other", NOW_MS)).toThrow("was given for other");
    made.use("orders", "shadow", NOW_MS);
  });

  test("is of one moment", async () => {
    const made = await proof();
    expect(() => made.use("orders", "shadow", NOW_MS + PROOF_LIFETIME_MS + 1)).toThrow("too old");
    (await proof()).use("orders", "shadow", NOW_MS + PROOF_LIFETIME_MS);
  });

  test("does not come from data, and fails as the reading does", async () => {
    expect(structuredClone(await proof())).not.toBeInstanceOf(QuiescenceProof);
    const down = () => Promise.reject(new Error("down"));
    await expect(QuiescenceProof.check("orders", "shadow", down, NOW_MS)).rejects.toThrow("down");
  });
});

describe("a proof of absence", () => {
  test("is made only of what is not there, and covers that alone", async () => {
    expect(await AbsenceProof.check("shadow", async () => true)).toBeNull();
    const gone = await AbsenceProof.check("shadow", async () => false);
    expect([gone?.covers("shadow"), gone?.covers("other")]).toEqual([true, false]);
  });
});

describe("checkpoints and frontiers", () => {
  test("are JSON text, and bounded in bytes", () => {
    expect(checkpointOf({ at: 7 })).toBe('{"at":7}');
    const quotes = 2;
    expect(frontierOf("x".repeat(MAX_POSITION_BYTES - quotes))).toHaveLength(MAX_POSITION_BYTES);
    expect(() => checkpointOf("x".repeat(MAX_POSITION_BYTES - quotes + 1))).toThrow(RangeError);
    // Each takes three bytes.
    expect(() => frontierOf("€".repeat(MAX_POSITION_BYTES / 3))).toThrow(RangeError);
  });
});

describe("failures", () => {
  test("are one class for each kind that the manager knows", () => {
    const classes = Object.values(failures).filter((each) => each !== EngineFailure) as (typeof Fenced)[];
    const kinds = classes.map((Failure) => new Failure("orders", "why").kind);
    expect(kinds.sort()).toEqual([...FAILURE_KINDS].sort());
  });

  test("say which queue and why", () => {
    const failure = new NeedsDrain("orders", "3 are left");
    expect([failure.name, failure.message, failure.queue, failure.detail]).toEqual([
      "NeedsDrain",
      "orders: 3 are left",
      "orders",
      "3 are left",
    ]);
  });
});
