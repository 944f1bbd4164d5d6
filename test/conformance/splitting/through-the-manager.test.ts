import { describe, expect, test } from "vitest";
import type { ModelAgent } from "../../model-broker/model-agent.ts";
import { ModelProbe } from "../../model-broker/model-probe.ts";
import type { QueueKind } from "../../model-broker/queue.ts";
import type { Crash } from "../../model-broker/scheduler.ts";
import { abortedLife } from "./aborted-life.ts";
import { managerKeeper } from "./manager-keeper.ts";
import { splittingSuite } from "./splitting-suite.ts";
import { wholeLife } from "./whole-life.ts";

// The engine contract, the agents' protocol and the manager fit: nothing of the three is left out, but sockets.

/** Crashes at each of so many places in a life. */
const PLACES = 12;

/** A life in which the first agent dies where the crash says; what is wrong with it, and how many agents it took. */
async function liveWith(kind: QueueKind, crash: Crash | null, live = wholeLife) {
  const probe = new ModelProbe({ kind });
  const agents: ModelAgent[] = [];
  probe.onAgent = (agent) => {
    if (agents.push(agent) === 1 && crash) agent.crashBy(crash);
  };
  const wrong = await live(probe, managerKeeper);
  await probe.close();
  return { wrong, agents: agents.length, steps: agents[0]?.process.steps ?? 0 };
}

describe.each<QueueKind>(["queue", "log"])("a split of a %s through its manager", (kind) => {
  test("goes from its first preparation to its last deletion, with two routes and one agent", async () => {
    expect(await liveWith(kind, null)).toMatchObject({ wrong: [], agents: 1 });
  });

  test("goes on with a newer agent wherever the first one dies", async () => {
    const { steps } = await liveWith(kind, null);
    expect(steps).toBeGreaterThan(10 * PLACES);
    for (let place = 1; place <= PLACES; place++) {
      const step = Math.floor((steps * place) / (PLACES + 1));
      const when = place % 2 === 0 ? "before" : "after";
      const { wrong, agents } = await liveWith(kind, { at: { step }, when });
      expect({ wrong, agents }, `${when} step ${step}`).toEqual({ wrong: [], agents: 2 });
    }
  });

  test("is called off", async () => {
    const live: typeof wholeLife = (probe, keep) => abortedLife(probe, true, keep);
    expect(await liveWith(kind, null, live)).toMatchObject({ wrong: [], agents: 1 });
  });
});

splittingSuite({
  name: "a queue of the model broker, through the manager",
  makeProbe: async () => new ModelProbe({ kind: "queue" }),
  keep: managerKeeper,
  cannot: {
    11: "a queue knows no transactions of its producers",
    26: "a queue keeps no positions that could be forgotten",
  },
});
