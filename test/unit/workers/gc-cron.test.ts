import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { FairlaneError } from "../../../src/core/failure.ts";
import type { IdleAnswer } from "../../../src/durable/gc-registry.ts";
import type { CollectReply } from "../../../src/protocol/tenant-calls.ts";
import {
  type GcPorts,
  MAX_PASSES_PER_TENANT,
  MAX_TENANTS_AT_A_TIME,
  MAX_TENANTS_PER_RUN,
  runCollection,
  TENANT_DEADLINE_MS,
} from "../../../src/workers/gc-cron.ts";

const names = (count: number) => Array.from({ length: count }, (_, i) => `t${String(i).padStart(4, "0")}`);
const reply = (more: Partial<CollectReply> = {}): CollectReply => ({
  deletedMessages: 0,
  releasedPartitions: 0,
  stopped: "done",
  idle: false,
  activity: 1,
  ...more,
});

function setup(
  collect: GcPorts["collect"],
  due: GcPorts["registry"]["due"] = async (all, _, __, max) => all.slice(0, max),
) {
  const noted: [string, number, IdleAnswer | null][] = [];
  const ports: GcPorts = {
    registry: {
      due,
      tried: async (...note) => {
        noted.push(note);
      },
    },
    collect,
    nowMs: () => nowMs,
  };
  let nowMs = 1000;
  const pass = (ms: number) => {
    nowMs += ms;
  };
  const run = (tenants: string[], nowMs = 5000) =>
    runCollection(ports, { tenants: new Set(tenants), nowMs, intervalMs: 600_000 });
  return { noted, run, ports, pass };
}

let lines: string[];
beforeEach(() => {
  lines = [];
  vi.spyOn(console, "error").mockImplementation((line: string) => void lines.push(line));
});
afterEach(() => {
  vi.restoreAllMocks();
});

describe("a collection run", () => {
  test("notes each tenant with its answer, at the run's time", async () => {
    const { noted, run } = setup(async (tenant) => reply({ idle: tenant === "b", activity: 7 }));
    await run(["a", "b"]);
    expect(noted).toEqual([
      ["a", 5000, { idle: false, activity: 7 }],
      ["b", 5000, { idle: true, activity: 7 }],
    ]);
  });

  test("passes on the interval, the bound and the deadline", async () => {
    const asked: unknown[] = [];
    const { run } = setup(
      async (tenant, deadlineMs) => {
        asked.push([tenant, deadlineMs]);
        return reply();
      },
      async (...due) => {
        asked.push(due);
        return ["b"];
      },
    );
    await run(["a", "b"]);
    expect(asked).toEqual([
      [["a", "b"], 5000, 600_000, MAX_TENANTS_PER_RUN],
      ["b", TENANT_DEADLINE_MS],
    ]);
  });

  test("a tenant with more to collect gets further passes, and is due in the next run when its time is over", async () => {
    const passes: Record<string, number> = { a: 0, b: 0, c: 0 };
    const { noted, run, pass } = setup(async (tenant) => {
      passes[tenant] = (passes[tenant] ?? 0) + 1;
      if (tenant === "b") pass(TENANT_DEADLINE_MS / 4);
      const more = tenant === "a" ? (passes[tenant] ?? 0) < 3 : true;
      return reply({ stopped: more ? "limit" : "done" });
    });
    await run(["a"]);
    expect(passes.a).toBe(3);
    await run(["b"]);
    expect(passes.b).toBe(4);
    await run(["c"]);
    expect(passes.c).toBe(MAX_PASSES_PER_TENANT);
    expect(noted.map(([tenant, at]) => [tenant, at])).toEqual([
      ["a", 5000],
      ["b", 5000 - 600_000],
      ["c", 5000 - 600_000],
    ]);
  });

  test("six at a time", async () => {
    let now = 0;
    let most = 0;
    const { run, noted } = setup(async () => {
      most = Math.max(most, ++now);
      await Promise.resolve();
      now--;
      return reply();
    });
    await run(names(50));
    expect(most).toBe(MAX_TENANTS_AT_A_TIME);
    expect(noted).toHaveLength(50);
  });

  test("a failing tenant disturbs no other; the end names all that failed, and each has a line", async () => {
    const { run, noted } = setup(async (tenant) => {
      if (tenant === "t0003")
        throw new FairlaneError({ code: "store-unavailable", detail: "no answer in time" });
      if (tenant === "t0001") throw new TypeError("broken");
      return reply();
    });
    await expect(run(names(10))).rejects.toThrow(/2 of 10 tenants: t0001, t0003$/);
    expect(noted).toHaveLength(10);
    expect(
      noted
        .filter(([, , answer]) => answer === null)
        .map(([tenant]) => tenant)
        .sort(),
    ).toEqual(["t0001", "t0003"]);
    expect(
      lines
        .map((line) => JSON.parse(line))
        .map(({ event, tenant }) => `${event} ${tenant}`)
        .sort(),
    ).toEqual(["gc-tenant-failed t0001", "gc-tenant-failed t0003"]);
  });

  test("six hanging tenants hold up only their own places until they end", async () => {
    const ends: (() => void)[] = [];
    const { run, noted } = setup((tenant) => {
      if (tenant > "t0004") return Promise.resolve(reply());
      return new Promise((_, reject) => ends.push(() => reject(new Error("too late"))));
    });
    const done = run(names(20));
    while (noted.length < 15) await Promise.resolve();
    for (const end of ends) end();
    await expect(done).rejects.toThrow(/5 of 20/);
  });

  test("without the registry all are due, and a note that fails is reported", async () => {
    const { ports, run } = setup(
      async () => reply(),
      async () => Promise.reject(new Error("lost")),
    );
    ports.registry.tried = async (tenant) => {
      if (tenant === "b") throw new Error("lost");
    };
    await expect(run(["a", "b"])).rejects.toThrow(/1 of 2 tenants: b$/);
    expect(lines.filter((line) => line.includes("gc-registry-failed"))).toHaveLength(2);
  });

  test("without the registry a long list is taken in turns", async () => {
    const seen = new Set<string>();
    const { run } = setup(
      async (tenant) => {
        seen.add(tenant);
        return reply();
      },
      async () => Promise.reject(new Error("lost")),
    );
    const tenants = names(2 * MAX_TENANTS_PER_RUN);
    await run(tenants, 0);
    expect(seen.size).toBe(MAX_TENANTS_PER_RUN);
    await run(tenants, 60_000);
    expect(seen.size).toBe(2 * MAX_TENANTS_PER_RUN);
  });

  test("nothing due is nothing done", async () => {
    const { run, noted } = setup(
      async () => reply(),
      async () => [],
    );
    await run(["a"]);
    expect(noted).toEqual([]);
  });
});
