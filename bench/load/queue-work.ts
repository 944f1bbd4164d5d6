import type { MessageSource, Seen } from "./messages.ts";
import type { QueueClient } from "./queue-client.ts";

const BATCH = 100;
/** Receives in a row that may come back empty before messages count as lost. */
const MAX_EMPTY_RECEIVES = 50;
const WAIT_MS = 200;

/** Publishes `count` messages in batches, one connection each for a share of them. */
export async function publishAll(
  clients: readonly QueueClient[],
  source: MessageSource,
  count: number,
): Promise<void> {
  const end = source.made + count;
  const publish = async (client: QueueClient): Promise<void> => {
    while (source.made < end) {
      const batch = Math.min(BATCH, end - source.made);
      await client.publish(source.batch(batch), batch);
    }
  };
  await Promise.all(clients.map(publish));
}

/** Receives and settles until `seen` holds `count` messages, each client as a subscriber of its own. */
export async function consumeAll(
  clients: readonly QueueClient[],
  group: string,
  seen: Seen,
  count: number,
): Promise<void> {
  const consume = async (client: QueueClient, place: number): Promise<void> => {
    const subscriber = `worker-${place}`;
    for (let empty = 0; seen.count < count; ) {
      const { receipts, numbers } = await client.receive(group, subscriber, BATCH, WAIT_MS);
      if (receipts.length === 0) {
        if (++empty > MAX_EMPTY_RECEIVES) throw new Error(`${count - seen.count} messages do not come`);
        continue;
      }
      empty = 0;
      seen.add(numbers);
      await client.settle(group, subscriber, receipts);
    }
  };
  await Promise.all(clients.map(consume));
}
