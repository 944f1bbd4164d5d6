import type { ObjectHost } from "./object-host.ts";
import type { GroupPlan, Lateness } from "./profile.ts";

/** Between two receives that look for the message. */
const LOOK_MS = 250;
/** A late message of which a hint told comes so soon after its commit (G9). */
const HINTED_WITHIN_MS = 5000;
/** Beside the horizon: the confirming read comes by parts of it, and a receive takes a moment. */
const FOUND_WITHIN_MS = 3000;

/** What the probe needs of the end of a run. */
export interface ProbePorts {
  pass(lastsMs: number): Promise<void>;
  take(plan: GroupPlan): Promise<{ id: string; receipt: string }[]>;
  ack(plan: GroupPlan, deliveries: readonly { receipt: string }[]): Promise<void>;
}

/**
 * G9 in the quiet end: a message that commits late, on an offset below what was read and settled meanwhile, comes
 * within some seconds when its hint arrives, and within the horizon when it does not.
 */
export async function probeLateMessages(
  host: ObjectHost,
  lateness: Lateness,
  plan: GroupPlan,
  partitionKey: string,
  ports: ProbePorts,
): Promise<void> {
  for (const isHinted of [true, false]) {
    const id = `late/${plan.group}/${isHinted ? "hinted" : "unhinted"}`;
    let answered = false;
    const message = (name: string) => ({
      id: name,
      partitionKey,
      body: "1",
      contentType: null,
      headers: "",
      delayMs: 0,
    });
    const late = { topic: plan.topic, messages: [message(id)] };
    host.publishLate(late, { openMs: lateness.maxOpenMs, isHinted }, () => {
      answered = true;
    });
    await ports.pass(LOOK_MS);
    host.send("publish", { topic: plan.topic, messages: [message(`${id}/after`)] }, () => {});
    const seen = new Set<string>();
    const look = async () => {
      const deliveries = await ports.take(plan);
      await ports.ack(plan, deliveries);
      for (const delivery of deliveries) seen.add(delivery.id);
    };
    for (let waitedMs = 0; !answered && waitedMs < 2 * lateness.maxOpenMs; waitedMs += LOOK_MS) {
      await look();
      await ports.pass(LOOK_MS);
    }
    if (!answered || !seen.has(`${id}/after`))
      host.history.violate("G2", `${id} was not answered, or what came after it was not delivered meanwhile`);
    const withinMs = isHinted ? HINTED_WITHIN_MS : lateness.commitHorizonMs + FOUND_WITHIN_MS;
    for (let waitedMs = 0; !seen.has(id) && waitedMs <= withinMs; waitedMs += LOOK_MS) {
      await look();
      await ports.pass(LOOK_MS);
    }
    if (!seen.has(id)) host.history.violate("G2", `${id} was committed ${withinMs} ms ago and did not come`);
  }
}
