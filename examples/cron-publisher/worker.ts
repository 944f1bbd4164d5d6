import { Fairlane, messageId } from "fairlane";

/** Asks for a report each night. However often cron fires for one night, one request for it is stored. */

interface Env {
  FAIRLANE_URL: string;
  FAIRLANE_TENANT: string;
  /** With the scope `publish`. */
  FAIRLANE_TOKEN: string;
}

const TOPIC = "report-requests";
const REPORT = "nightly-sales";
const DEADLINE_MS = 60_000;

export default {
  /** A rejection counts as a failed run in the platform's metrics. */
  async scheduled(controller: { scheduledTime: number }, env: Env): Promise<void> {
    const fairlane = new Fairlane({
      url: env.FAIRLANE_URL,
      tenant: env.FAIRLANE_TENANT,
      token: env.FAIRLANE_TOKEN,
    });
    // The planned time, not the clock: a run that comes late or twice has the same one.
    const plannedFor = new Date(controller.scheduledTime).toISOString();
    const { id, duplicate } = await fairlane.publish(
      TOPIC,
      { id: await messageId(REPORT, plannedFor), partitionKey: REPORT, body: { report: REPORT, plannedFor } },
      { signal: AbortSignal.timeout(DEADLINE_MS) },
    );
    console.log(JSON.stringify({ event: "report-requested", id, duplicate }));
  },
};
