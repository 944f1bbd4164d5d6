import { describe, expect, expectTypeOf, test } from "vitest";
import type { z } from "zod";
import { documentText, readDocument, type splitDocument } from "../../../../src/splitting/state/document.ts";
import { PHASES, type WorkingPhase } from "../../../../src/splitting/state/phase.ts";
import { MAX_DOCUMENT_BYTES, MAX_REASON_CHARS } from "../../../../src/splitting/state/split-limits.ts";
import type { SplitState } from "../../../../src/splitting/state/split-state.ts";
import { ALICE, BOB, degradedIn, IDENTITY, report, splitIn } from "./splits.ts";

type Path = readonly (string | number)[];

/** The document of an active split with two routes, and one thing in it changed. */
function changed(path: Path, value: unknown, state: SplitState = splitIn("Active")): string {
  const document = structuredClone(state) as unknown;
  const last = path.at(-1) ?? "";
  const parent = path
    .slice(0, -1)
    .reduce<unknown>((at, key) => (at as Record<string | number, unknown>)[key], document);
  (parent as Record<string | number, unknown>)[last] = value;
  return JSON.stringify(document);
}

function heldReason(text: string, identity = IDENTITY): string {
  const read = readDocument(text, identity);
  return read.kind === "held" ? read.reason : expect.fail("it was taken");
}

describe("a document", () => {
  test("has the shape of the type, and the type that of the schema", () => {
    expectTypeOf<z.output<typeof splitDocument>>().toEqualTypeOf<SplitState>();
    expectTypeOf<z.input<typeof splitDocument>>().toEqualTypeOf<SplitState>();
  });

  test.each(PHASES)("of %s comes back as it was", (phase) => {
    const state = splitIn(phase);
    expect(readDocument(documentText(state) ?? "", IDENTITY)).toEqual({ kind: "ok", state });
    if (phase === "Inactive") return;
    const held = degradedIn(phase as WorkingPhase);
    expect(readDocument(documentText(held) ?? "", IDENTITY)).toEqual({ kind: "ok", state: held });
  });

  test("with something left behind comes back as it was", () => {
    const state = splitIn("CleaningUp");
    const name = state.resources[0]?.name ?? "";
    const kept = report(report(state, { kind: "retained", name, reason: "r" }), { kind: "cleaned" });
    expect(readDocument(documentText(kept) ?? "", IDENTITY)).toEqual({ kind: "ok", state: kept });
  });

  test("is not stored when it has too many bytes, counted as bytes", () => {
    const state = splitIn("Active");
    const wide = "é".repeat(MAX_DOCUMENT_BYTES / 2);
    const full = { ...state, splitId: wide };
    expect(JSON.stringify(full).length).toBeLessThan(MAX_DOCUMENT_BYTES);
    expect(documentText(full)).toBeNull();
    expect(documentText(state)).toBe(JSON.stringify(state));
  });
});

describe("what is not understood is held", () => {
  test.each<[string, string]>([
    ["nothing", ""],
    ["half a document", '{"schemaVersion":1'],
    ["null", "null"],
    ["a list", "[]"],
    ["a text", '"a"'],
    ["an empty object", "{}"],
  ])("%s", (_, text) => {
    expect(heldReason(text)).toMatch(/\S/);
  });

  test.each([2, 99, -1, 1.5, "1", null, undefined, true])("version %j", (version) => {
    expect(heldReason(changed(["schemaVersion"], version))).toBe("unknown document version");
  });

  test("an unknown field at any depth, without repeating it", () => {
    for (const path of [
      ["s3cret"],
      ["phase", "s3cret"],
      ["sources", 0, "s3cret"],
      ["routes", 1, "s3cret"],
      ["resources", 0, "s3cret"],
    ]) {
      const reason = heldReason(changed(path, "s3cret"));
      expect(reason).toMatch(/an unknown field/);
      expect(reason).not.toContain("s3cret");
    }
  });

  test.each<[Path, unknown]>([
    [["generation"], 0],
    [["generation"], 1.5],
    [["generation"], -1],
    [["generation"], "7"],
    [["generation"], 2 ** 53],
    [["agentEpoch"], -1],
    [["phase"], "Active"],
    [["phase", "name"], "Sleeping"],
    [["phase"], { name: "Degraded", resumePhase: "Inactive", reason: "r" }],
    [["phase"], { name: "Degraded", resumePhase: "Degraded", reason: "r" }],
    [["phase"], { name: "Degraded", resumePhase: "Active", reason: "" }],
    [["phase"], { name: "Degraded", resumePhase: "Active", reason: "r".repeat(MAX_REASON_CHARS + 1) }],
    [["phase"], { name: "Degraded", resumePhase: "Active" }],
    [["phase"], { name: "Active", reason: "r" }],
    [["sources"], []],
    [["sources", 0, "queue"], "Not A Label"],
    [["sources", 0, "provider"], "carrier-pigeon"],
    [["sources", 0, "checkpoint"], "x".repeat(16 * 1024 + 1)],
    [["sources", 0, "checkpoint"], "é".repeat(16 * 1024)],
    [["sources", 0, "checkpoint"], ""],
    [["routes", 0, "slot"], 20],
    [["routes", 0, "slot"], -1],
    [["routes", 0, "ttlMs"], 0],
    [["routes", 0, "state"], "gone"],
    [["routes", 0, "filter"], "x-dev=alice"],
    [["resources", 0, "kind"], "table"],
    [["retained"], null],
    [["prefix"], "-"],
    [["prefix"], "a".repeat(17)],
  ])("%j as %j", (path, value) => {
    expect(heldReason(changed(path, value))).toMatch(/^the document does not fit its schema/);
  });

  test("a document of somebody else", () => {
    const text = JSON.stringify(splitIn("Active"));
    expect(heldReason(text, { ...IDENTITY, tenant: "acme" })).toBe("the document is of another workload");
    expect(heldReason(text, { ...IDENTITY, workload: "billing" })).toBe(
      "the document is of another workload",
    );
  });
});

describe("what cannot be so is held", () => {
  test.each<[string, Path, unknown, RegExp]>([
    ["a queue twice", ["sources", 1, "queue"], "orders", /queue orders is there twice/],
    ["a route twice", ["routes", 1, "route"], "alice", /route alice is there twice/],
    ["a slot twice", ["routes", 1, "slot"], 0, /slot 0 of queue orders is there twice/],
    ["a route of no source", ["routes", 0, "queue"], "other", /queue other is not among the sources/],
    ["a look-alike's name", ["resources", 0, "name"], "fairlane-app-shadow-orders-0", /is not the name of/],
    ["another queue's resource", ["resources", 0, "queue"], "audit", /is not the name of/],
    ["another prefix", ["prefix"], "other", /is not the name of/],
    ["a slot without a pool", ["resources", 0, "slot"], 1, /has a slot where it should not/],
    [
      "a filter of another dialect",
      ["routes", 0, "filter"],
      { key: { equals: "a" } },
      /filter of route alice/,
    ],
    ["an empty filter", ["routes", 0, "filter"], {}, /filter of route alice/],
    ["routes that overlap", ["routes", 0, "filter"], BOB, /routes alice and bob are not provably apart/],
    ["a generation that is to come", ["enteredGeneration"], 2 ** 50, /still to come/],
    ["no split ID", ["splitId"], "", /has no split ID/],
    ["a frontier before its time", ["sources", 0, "frontier"], "{}", /never stopped/],
    ["no checkpoint", ["sources", 0, "checkpoint"], null, /without a checkpoint/],
    ["an end of the split with a route", ["phase"], { name: "QuiescingHandback" }, /no deadline|has a route/],
    ["Inactive with what is not retained", ["phase"], { name: "Inactive" }, /Inactive has a route/],
  ])("%s", (_, path, value, reason) => {
    expect(heldReason(changed(path, value))).toMatch(reason);
  });

  test("routes that overlap while one is being drained are fine", () => {
    const state = splitIn("Active");
    state.routes = state.routes.map((route) => ({ ...route, filter: ALICE }));
    expect(heldReason(JSON.stringify(state))).toMatch(/not provably apart/);
    const [alice, bob] = state.routes;
    if (alice === undefined || bob === undefined) return expect.fail("two routes");
    state.routes = [alice, { ...bob, state: "draining" }];
    expect(readDocument(JSON.stringify(state), IDENTITY).kind).toBe("ok");
  });

  test("a resource in Inactive, a deadline that is missing, and one where there is none", () => {
    const done = splitIn("CleaningUp");
    const inactive = { ...done, phase: { name: "Inactive" }, deadlineAtMs: null };
    expect(heldReason(JSON.stringify(inactive))).toBe("Inactive holds a resource that was not retained");
    expect(heldReason(JSON.stringify({ ...done, deadlineAtMs: null }))).toBe("CleaningUp has no deadline");
    const held = degradedIn("Active");
    expect(heldReason(JSON.stringify({ ...held, deadlineAtMs: 1 }))).toBe("Degraded has a deadline");
  });

  test("a held split is judged by the phase that it goes on in", () => {
    const degraded = { name: "Degraded", resumePhase: "DrainingApp", reason: "r" };
    const text = JSON.stringify({ ...splitIn("Active"), phase: degraded });
    expect(heldReason(text)).toBe("DrainingApp has an active route");
  });
});

describe("an older version", () => {
  const older = (state: SplitState) => {
    const { retained: _, enteredGeneration: __, ...rest } = state;
    return { ...rest, schemaVersion: 0 };
  };

  test("0 becomes 1: nothing was retained, and no report is older than the document", () => {
    const state = splitIn("Active");
    expect(readDocument(JSON.stringify(older(state)), IDENTITY)).toEqual({
      kind: "ok",
      state: { ...state, retained: [], enteredGeneration: state.generation },
    });
  });

  test("is judged as strictly as the newest", () => {
    const state = splitIn("Active");
    expect(heldReason(JSON.stringify({ ...older(state), extra: 1 }))).toMatch(/an unknown field/);
    expect(heldReason(JSON.stringify({ ...older(state), generation: "x" }))).toMatch(/wrong value/);
    expect(heldReason(JSON.stringify({ ...older(state), prefix: "other" }))).toMatch(/is not the name of/);
  });
});
