import type {
  CountRead,
  DuePage,
  DueRead,
  ListRead,
  MessageLog,
  PartitionPage,
  PartitionProgress,
  PartitionRead,
  ScanPage,
  StoredEntry,
  TopicRead,
} from "../log/message-log.ts";
import type { Reads } from "./unsettled-count.ts";

/**
 * The reads of a log, with what they cost: the rows that it was asked to look at. Not time: the clock stands still
 * while the object computes. A call costs something by itself, in rows too.
 */
export class MeasuredLog implements MeasuredReads {
  rows = 0;
  private readonly log: MessageLog;
  private readonly callRows: number;

  constructor(log: MessageLog, callRows: number) {
    this.log = log;
    this.callRows = callRows;
  }

  async countEntries(topic: string, read: CountRead): Promise<number> {
    this.rows += this.callRows;
    const count = await this.log.countEntries(topic, read);
    this.rows += count;
    return count;
  }

  async listMessages(topic: string, read: ListRead): Promise<StoredEntry[]> {
    return this.noted(await this.log.listMessages(topic, read));
  }

  async loadProgress(topic: string, group: string, keys: readonly string[]): Promise<PartitionProgress[]> {
    return this.noted(await this.log.loadProgress(topic, group, keys));
  }

  async scanDue(topic: string, read: DueRead): Promise<DuePage> {
    const page = await this.log.scanDue(topic, read);
    this.noted(page.entries);
    return page;
  }

  async scanPartitions(topic: string, reads: readonly PartitionRead[]): Promise<PartitionPage[]> {
    const pages = await this.log.scanPartitions(topic, reads);
    for (const { entries } of pages) this.noted(entries);
    return pages;
  }

  async scanTopic(topic: string, read: TopicRead): Promise<ScanPage> {
    const page = await this.log.scanTopic(topic, read);
    this.noted(page.entries);
    return page;
  }

  private noted<T>(found: T[]): T[] {
    this.rows += this.callRows + found.length;
    return found;
  }
}

type MeasuredReads = Reads["log"];
