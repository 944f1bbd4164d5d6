import { setTimeout as pause } from "node:timers/promises";
import { MessageSource, Seen } from "../load/messages.ts";
import { addMeters, MeterReader, NO_ROWS } from "../load/meter.ts";
import { type QueueClient, type Target, withClients } from "../load/queue-client.ts";
import { consumeAll, publishAll } from "../load/queue-work.ts";
import type { Meter } from "../metered/worker.ts";
import { TENANT, withServer } from "../server.ts";
import { PARTITIONS } from "./end-to-end.ts";

const METERED_ENTRY = "metered/worker.ts";
const MOST_GROUPS = 3;
const SUBSCRIBERS = 4;
/** Published, then received and settled, in turn: what caused a row is known, and the backlog stays small. */
const ROUND_MESSAGES = 5000;
/** The shortest that a topic may have, so that collection does not have to be waited for. */
export const RETENTION_MS = 1000;
const COLLECT_PAUSE_MS = 100;
const COLLECT_DEADLINE_MS = 60_000;

export interface RowFigures {
  /** Rows a message over its whole life, with one group. */
  read: number;
  written: number;
  writtenPerFurtherGroup: number;
  readPerFurtherGroup: number;
  alarmsSet: number;
  /** With one group, by what caused them. */
  steps: Record<Step, { read: number; written: number }>;
}

const STEPS = ["publish", "deliver", "collect"] as const;
type Step = (typeof STEPS)[number];
type Life = Record<Step, Meter>;

/** Rows of whole lives in the shape of the end-to-end run, with 1, 2 and 3 groups. */
export async function measureRows(
  size: { messages: number },
  progress: (line: string) => void,
): Promise<RowFigures> {
  const lives: Life[] = [];
  for (let groups = 1; groups <= MOST_GROUPS; groups++) {
    const life = await oneLife(groups, size.messages);
    lives.push(life);
    const { rowsRead, rowsWritten } = totalOf(life);
    progress(
      `${groups} groups: ${rowsRead / size.messages} rows read, ${rowsWritten / size.messages} written a message`,
    );
  }
  const one = totalOf(lives[0] as Life);
  const most = totalOf(lives[MOST_GROUPS - 1] as Life);
  const furtherGroups = (MOST_GROUPS - 1) * size.messages;
  const steps = STEPS.map((step): [Step, { read: number; written: number }] => {
    const { rowsRead, rowsWritten } = (lives[0] as Life)[step];
    return [step, { read: rowsRead / size.messages, written: rowsWritten / size.messages }];
  });
  return {
    read: one.rowsRead / size.messages,
    written: one.rowsWritten / size.messages,
    writtenPerFurtherGroup: (most.rowsWritten - one.rowsWritten) / furtherGroups,
    readPerFurtherGroup: (most.rowsRead - one.rowsRead) / furtherGroups,
    alarmsSet: one.alarmsSet / size.messages,
    steps: Object.fromEntries(steps) as RowFigures["steps"],
  };
}

function totalOf(life: Life): Meter {
  return STEPS.reduce((sum, step) => addMeters(sum, life[step]), NO_ROWS);
}

async function oneLife(groups: number, messages: number): Promise<Life> {
  return withServer(METERED_ENTRY, async ({ url, token }) => {
    const target: Target = { url, token, tenant: TENANT, topic: "rows" };
    const meter = await MeterReader.open(url);
    try {
      return await withClients(target, SUBSCRIBERS, async (clients) => {
        const [client] = clients as [QueueClient];
        const names = Array.from({ length: groups }, (_, place) => `group-${place}`);
        await client.call("PUT", `topics/${target.topic}`, { retentionMs: RETENTION_MS });
        for (const group of names) await client.call("PUT", `topics/${target.topic}/groups/${group}`, {});
        // Making the object, its tables, the topic and the groups is no message's.
        await meter.take();
        const life: Life = { publish: NO_ROWS, deliver: NO_ROWS, collect: NO_ROWS };
        const source = new MessageSource(PARTITIONS);
        const seen = new Map(names.map((group) => [group, new Seen()]));
        while (source.made < messages) {
          await publishAll(clients, source, Math.min(ROUND_MESSAGES, messages - source.made));
          life.publish = addMeters(life.publish, await meter.take());
          for (const [group, consumed] of seen) await consumeAll(clients, group, consumed, source.made);
          life.deliver = addMeters(life.deliver, await meter.take());
        }
        await collectAll(client, messages);
        life.collect = await meter.take();
        return life;
      });
    } finally {
      meter.close();
    }
  });
}

/** Collects until every message is deleted, once their retention of a second has passed. */
export async function collectAll(client: QueueClient, messages: number): Promise<void> {
  const giveUpAtMs = performance.now() + COLLECT_DEADLINE_MS;
  await pause(RETENTION_MS);
  for (let deleted = 0; deleted < messages; ) {
    if (performance.now() > giveUpAtMs)
      throw new Error(`collection deleted ${deleted} of ${messages} messages`);
    const pass = await client.call<{ deletedMessages: number; stopped: string }>("POST", "gc");
    deleted += pass.deletedMessages;
    // Leases end by themselves, and what a lane still holds is not collected.
    if (pass.deletedMessages === 0) await pause(COLLECT_PAUSE_MS);
  }
}
