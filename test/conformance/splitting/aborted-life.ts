import { audit } from "./auditor.ts";
import type { MakeKeeper } from "./keeper.ts";
import { Life } from "./life.ts";
import type { Probe } from "./probe.ts";
import { Producer, routeOf } from "./samples.ts";
import { APPLICATION } from "./workload.ts";

const EVERYBODY = ["alice", "carol", "bob"];

/**
 * A split that is called off late: a developer has begun, and the application may have been on its shadow. As
 * `wholeLife`, what is wrong with it.
 */
export async function abortedLife(probe: Probe, redirected: boolean, keep?: MakeKeeper): Promise<string[]> {
  const users = await probe.exists();
  const life = new Life(probe, keep);
  try {
    await liveThrough(life, redirected);
  } catch (error) {
    return [`it did not get through, in ${life.phase}: ${error}`];
  }
  return audit(probe, users, { over: true });
}

async function liveThrough(life: Life, redirected: boolean): Promise<void> {
  const { probe } = life;
  const producer = new Producer();
  const publish = () => probe.seed(producer.next(EVERYBODY));
  const handled = (by: string) => probe.journal.of("handled").filter((fact) => fact.by === by).length;
  await life.workload.move("source");
  await publish();
  life.putRoute(routeOf("alice"));
  await life.to("StartingPump");
  await publish();
  await life.to("RedirectingApp");
  await publish();
  if (redirected) {
    await life.attachDeveloper("alice");
    const before = handled(APPLICATION);
    await life.workload.move("application");
    await life.until("both work", () => handled(APPLICATION) > before && handled("alice") > 0);
  }
  await publish();
  life.stop();
  await life.to("Inactive");
  await life.until("the source is worked off", async () => (await probe.waiting("source")).length === 0);
}
