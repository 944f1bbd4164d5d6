import { expect, test } from "vitest";
import { LateBench } from "./late-bench.ts";

test("a new object reads the log's clock before it takes a delayed message to be due", async () => {
  const bench = new LateBench();
  bench.databaseAheadMs = -3000;
  await bench.putGroup("t", "g");
  await bench.publish("t", [{ id: "delayed", delayMs: 2000 }, { id: "now" }]);
  expect(await bench.drain("t", "g")).toEqual(["now"]);
  bench.restart();
  expect(await bench.take("t", "g", { maxMessages: 1 })).toEqual([]);
  await bench.advance(2000);
  expect(await bench.drain("t", "g")).toEqual(["delayed"]);
});
