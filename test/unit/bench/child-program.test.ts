import { join } from "node:path";
import { afterEach, describe, expect, test } from "vitest";
import { ChildProgram } from "../../../bench/load/child-program.ts";

const BENCH = join(import.meta.dirname, "../../../bench");
const programs: ChildProgram<string, object>[] = [];

function start(path: string): ChildProgram<string, object> {
  const program = new ChildProgram<string, object>("the child", join(BENCH, path));
  programs.push(program);
  return program;
}

afterEach(() => {
  for (const program of programs.splice(0)) program.end();
});

describe("a program of the benchmark in a process of its own", () => {
  test.each(["load/busy-tenant.ts", "vitess/publish-program.ts"])(
    "%s answers why it cannot obey, more than once",
    async (path) => {
      const program = start(path);
      await expect(program.ask("stop")).rejects.toThrow("the child: nothing runs");
      await expect(program.ask("stop")).rejects.toThrow("the child: nothing runs");
    },
  );

  test("the gateway has nothing to tell before it was started", async () => {
    await expect(start("vitess/gateway-program.ts").ask("stats")).rejects.toThrow(
      "the child: it was not started",
    );
  });

  test("that ends fails the order under way, and any after it", async () => {
    const program = start("load/busy-tenant.ts");
    await expect(program.ask("stop")).rejects.toThrow("nothing runs");
    program.end();
    await expect(program.ask("stop")).rejects.toThrow("the child: its process ended");
    await expect(program.ask("stop")).rejects.toThrow("the child: its process ended");
  });
});
