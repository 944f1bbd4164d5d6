import { audit } from "./auditor.ts";
import type { MakeKeeper } from "./keeper.ts";
import { Life } from "./life.ts";
import type { Probe } from "./probe.ts";
import { Producer, routeOf } from "./samples.ts";
import { APPLICATION } from "./workload.ts";

const EVERYBODY = ["alice", "carol", "bob"];

/**
 * One split from the first preparation to the last deletion, with messages all along, and two developers who join,
 * work and leave at different times. Whatever agent dies in it, the next one goes on. What is wrong with it, as
 * sentences; an exception counts as one.
 */
export async function wholeLife(probe: Probe, keep?: MakeKeeper): Promise<string[]> {
  const users = await probe.exists();
  const life = new Life(probe, keep);
  try {
    await liveThrough(life);
  } catch (error) {
    return [`it did not get through, in ${life.phase}: ${error}`];
  }
  return audit(probe, users, { over: true });
}

async function liveThrough(life: Life): Promise<void> {
  const { probe } = life;
  const producer = new Producer();
  const publish = () => probe.seed(producer.next(EVERYBODY));
  const handled = (by: string) => probe.journal.of("handled").filter((fact) => fact.by === by).length;
  await life.workload.move("source");
  await publish();
  await publish();
  await life.until("the application has begun", () => handled(APPLICATION) > 0);
  await life.to("StartingPump");
  await publish();
  await life.to("Active");
  await life.startRoute(routeOf("alice"));
  await publish();
  await publish();
  await life.startRoute(routeOf("bob"));
  await publish();
  await life.until("alice works", () => handled("alice") > 0);
  await publish();
  await life.endRoute("alice");
  await publish();
  await life.until("bob works", () => handled("bob") > 0);
  await publish();
  await life.to("DrainingApp");
  await publish();
  await life.to("Inactive");
  await life.until("the source is worked off", async () => (await probe.waiting("source")).length === 0);
}
