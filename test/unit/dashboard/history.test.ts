import { describe, expect, test } from "vitest";
import { HISTORY_MS, History, MAX_SERIES, MIN_STEP_MS } from "../../../src/dashboard/history.ts";
import { forgetView, keepHistory, keepView, loadHistory, loadView } from "../../../src/dashboard/view.ts";

const START_MS = 1_795_000_000_000;
const at = (offsetMs: number, backlog = 1) => ({ atMs: START_MS + offsetMs, backlog, oldestAgeMs: 5 });

/** A tab's storage, which may be full. */
function storage({ full = false } = {}) {
  const texts = new Map<string, string>();
  return {
    texts,
    getItem: (key: string) => texts.get(key) ?? null,
    setItem: (key: string, text: string) => {
      if (full) throw new Error("QuotaExceededError");
      texts.set(key, text);
    },
    removeItem: (key: string) => void texts.delete(key),
  };
}

describe("the history", () => {
  test("keeps the last 15 minutes, and no two points of the same snapshot", () => {
    const history = new History();
    for (let ms = 0; ms <= 2 * HISTORY_MS; ms += 500) history.add("t", "g", at(ms));
    const points = history.of("t", "g");
    expect(points.length).toBeGreaterThan(HISTORY_MS / MIN_STEP_MS - 2);
    expect(points.length).toBeLessThanOrEqual(HISTORY_MS / MIN_STEP_MS + 1);
    expect((points.at(-1)?.atMs ?? 0) - (points[0]?.atMs ?? 0)).toBeLessThanOrEqual(HISTORY_MS);
  });

  test("a clock that goes back adds nothing until it has caught up", () => {
    const history = new History();
    for (const ms of [10_000, 2000, 9999, 12_000]) history.add("t", "g", at(ms));
    expect(history.of("t", "g").map(({ atMs }) => atMs - START_MS)).toEqual([10_000, 12_000]);
  });

  test("has at most so many series; the chosen topic's take the place of others, old ones that of nobody", () => {
    const history = new History();
    for (let i = 0; i < MAX_SERIES + 20; i++) history.add("many", `g${i}`, at(0));
    expect(history.size).toBe(MAX_SERIES);
    expect(history.of("many", `g${MAX_SERIES}`)).toEqual([]);
    history.add("other", "g", at(1000));
    expect(history.of("other", "g")).toEqual([]);
    history.add("chosen", "g", at(1000), true);
    expect(history.of("chosen", "g")).toHaveLength(1);
    expect(history.of("many", "g0")).toEqual([]);
    history.add("other", "g", at(120_000));
    expect(history.of("other", "g")).toHaveLength(1);
    expect(history.size).toBe(MAX_SERIES);
  });

  test("comes back from its text, without what is too old by then", () => {
    const history = new History();
    for (const ms of [0, 400_000, 800_000]) history.add("t", "g", at(ms, ms));
    const back = History.fromText(history.toText(), START_MS + 1_000_000);
    expect(back.of("t", "g")).toEqual([at(400_000, 400_000), at(800_000, 800_000)]);
  });

  test.each([
    "",
    "null",
    "{}",
    "[1]",
    '[["t g", [1, 2]]]',
    '[["t", [1, 2, 3]]]',
    '[["t g", [1, "2", -3]]]',
    "{",
  ])("of another text %j nothing comes", (text) => {
    expect(History.fromText(text, 0).of("t", "g")).toEqual([]);
  });

  test("at its largest it fits a tab's storage of 5 MB", () => {
    const history = new History();
    for (let i = 0; i < MAX_SERIES; i++) {
      for (let ms = 0; ms <= HISTORY_MS; ms += 2000) {
        history.add("t".repeat(124), `g${i}`.padEnd(128, "x"), {
          ...at(ms, 10_000),
          oldestAgeMs: 604_800_000,
        });
      }
    }
    const tab = storage();
    keepHistory(tab, "demo", history, START_MS);
    // Storage counts two bytes a character.
    expect((tab.texts.get("fairlane.history") ?? "").length * 2).toBeLessThan(4_500_000);
  });
});

describe("what a tab keeps", () => {
  test("is of one tenant, and goes with the session", () => {
    const tab = storage();
    const history = new History();
    history.add("t", "g", at(0));
    expect(keepHistory(tab, "demo", history, START_MS)).toBe(true);
    keepView(tab, "demo", { pageStarts: [null, "m"], topic: "t", group: "g" });
    expect(loadHistory(tab, "demo", START_MS).of("t", "g")).toHaveLength(1);
    expect(loadHistory(tab, "acme", START_MS).size).toBe(0);
    expect(loadHistory(tab, "demo", START_MS + HISTORY_MS + 1).size).toBe(0);
    expect(loadView(tab, "demo")).toEqual({ pageStarts: [null, "m"], topic: "t", group: "g" });
    expect(loadView(tab, "acme")).toBeNull();
    forgetView(tab);
    expect(tab.texts.size).toBe(0);
  });

  test("says so where there is no room, and reads what is not its own as nothing", () => {
    expect(keepHistory(storage({ full: true }), "demo", new History(), START_MS)).toBe(false);
    const tab = storage();
    for (const key of ["fairlane.view", "fairlane.history"]) tab.setItem(key, "{");
    expect(loadView(tab, "demo")).toBeNull();
    expect(loadHistory(tab, "demo", START_MS).size).toBe(0);
    tab.setItem("fairlane.view", JSON.stringify({ tenant: "demo", pageStarts: [1, {}], topic: 3 }));
    expect(loadView(tab, "demo")).toEqual({ pageStarts: [null], topic: null, group: null });
  });
});
