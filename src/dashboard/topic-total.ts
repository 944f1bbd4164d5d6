import type { Fairlane } from "../client/fairlane.ts";
import { Poller, type PollTimers } from "./poller.ts";
import { Store } from "./store.ts";

const DEAD_LETTER_SUFFIX = "_dlq";

/** How many topics the tenant has, for a page that does not show them all. Asked for once a page, not again and again. */
export class TopicTotal {
  /** null: not known. */
  readonly store = new Store<{ total: number | null }>({ total: null });
  private readonly poller: Poller<{ topics: string[] }>;
  private isAsked = false;

  constructor(client: Fairlane, timers: PollTimers) {
    this.poller = new Poller({
      read: () => client.admin.listTopics(),
      intervalMs: null,
      timers,
      onReply: ({ topics }) =>
        this.store.update({ total: topics.filter((topic) => !topic.endsWith(DEAD_LETTER_SUFFIX)).length }),
      // Without it one line is not there; what is wrong with the server is said where the topics are read.
      onFailure: () => {},
    });
  }

  askOnce(): void {
    if (this.isAsked) return;
    this.isAsked = true;
    this.poller.start();
  }

  /** What was asked may have changed: the next `askOnce` asks. */
  stop(): void {
    this.isAsked = false;
    this.poller.stop();
  }
}
