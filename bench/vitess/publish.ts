import { MessageSource } from "../load/messages.ts";
import { PARTITIONS } from "../phases/end-to-end.ts";
import { BATCHES, type BatchRates, publishRate } from "../phases/publish.ts";
import { TENANT } from "../server.ts";
import { median } from "../statistics.ts";
import { type VitessPlace, withServedPlace } from "./place.ts";

/** Messages a second that were answered, medians of rounds; each batch size has a topic of its own. */
export async function measureVitessPublish(
  place: VitessPlace,
  size: { rounds: number; roundMs: number },
): Promise<BatchRates> {
  return withServedPlace(place, {}, async ({ url, token }) => {
    const found: BatchRates = { batch1: 0, batch10: 0, batch100: 0 };
    for (const batch of BATCHES) {
      const target = { url, token, tenant: TENANT, topic: `batch${batch}` };
      const source = new MessageSource(PARTITIONS);
      const rates: number[] = [];
      // The first round warms up.
      for (let round = 0; round <= size.rounds; round++) {
        const rate = await publishRate(target, source, batch, size.roundMs);
        if (round > 0) rates.push(rate);
      }
      found[`batch${batch}`] = median(rates);
    }
    return found;
  });
}
