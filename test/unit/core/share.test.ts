import { expect, test } from "vitest";
import { mayTake, type ShareInput, shares } from "../../../src/core/share.ts";

function setup(
  held: Record<string, number>,
  asking: string[],
  more: Partial<Pick<ShareInput, "freeReadyLanes">> & { delivering?: string[] } = {},
): ShareInput {
  const freeReadyLanes = more.freeReadyLanes ?? 0;
  const busyLanes = Object.values(held).reduce((all, lanes) => all + lanes, freeReadyLanes);
  return {
    busyLanes,
    freeReadyLanes,
    heldLanes: new Map(Object.entries(held)),
    counted: new Set([...asking, ...(more.delivering ?? [])]),
    asking: new Set(asking),
  };
}

test("a joiner gets half of what one subscriber held", () => {
  const { share, giveUp } = shares(setup({ ann: 64 }, ["ann", "bob"]));
  expect([share, [...giveUp]]).toEqual([32, [["ann", 32]]]);
});

test("a joiner takes free lanes before anybody gives one up", () => {
  const input = setup({ ann: 3 }, ["ann", "bob"], { freeReadyLanes: 1 });
  expect(shares(input)).toEqual({ share: 2, giveUp: new Map([["ann", 1]]) });
  expect(shares(setup({ ann: 2 }, ["ann", "bob"], { freeReadyLanes: 2 })).giveUp.size).toBe(0);
});

test("alone, or with others that have enough, a subscriber takes what it likes", () => {
  expect(mayTake(setup({}, ["ann"], { freeReadyLanes: 9 }), "ann")).toBe(Number.POSITIVE_INFINITY);
  expect(mayTake(setup({ bob: 2 }, ["ann", "bob"], { freeReadyLanes: 2 }), "ann")).toBe(
    Number.POSITIVE_INFINITY,
  );
});

test("who has its share takes nothing free while another lacks", () => {
  const input = setup({ ann: 2, bob: 1 }, ["ann", "bob"], { freeReadyLanes: 1 });
  expect(shares(input).share).toBe(2);
  expect(mayTake(input, "ann")).toBe(0);
  // For bob, ann lacks nothing: the last lane is his.
  expect(mayTake(input, "bob")).toBe(Number.POSITIVE_INFINITY);
});

test("a joiner that lanes do not divide for evenly gets one all the same, and keeps it", () => {
  const input = setup({ ann: 2, bob: 2 }, ["ann", "bob", "cid"]);
  expect(shares(input)).toEqual({ share: 2, giveUp: new Map([["ann", 1]]) });
  const given = setup({ ann: 1, bob: 2 }, ["ann", "bob", "cid"], { freeReadyLanes: 1 });
  expect(shares(given).giveUp.size).toBe(0);
  expect(["ann", "bob", "cid"].map((name) => mayTake(given, name))).toEqual([0, 0, 2]);
});

test("who neither asks nor delivers gives up all that others ask for, and only that", () => {
  const asleep = { zed: 5 };
  expect([...shares(setup(asleep, ["ann"])).giveUp]).toEqual([["zed", 5]]);
  expect([...shares(setup({ ...asleep, ann: 3 }, ["ann", "bob"])).giveUp]).toEqual([["zed", 5]]);
  expect(shares(setup(asleep, [])).giveUp.size).toBe(0);
});

test("who still delivers keeps its share, though it does not ask", () => {
  const input = setup({ ann: 4 }, ["bob"], { delivering: ["ann"] });
  expect(shares(input)).toEqual({ share: 2, giveUp: new Map([["ann", 2]]) });
});

test("nothing held, nothing busy, nobody there", () => {
  expect(shares(setup({}, []))).toEqual({ share: 0, giveUp: new Map() });
  expect(shares(setup({}, ["ann"]))).toEqual({ share: 0, giveUp: new Map() });
});
