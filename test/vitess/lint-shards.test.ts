import { describe, expect, test } from "vitest";
import { StatementCollector } from "../../scripts/lint-shards/statement-collector.ts";
import { message, TOPIC } from "../conformance/samples.ts";
import { vitessPlace } from "./vitess-log-place.ts";

/** How a suite that runs on a server uses the collector; the whole of it is where the log's own suite is. */
const place = vitessPlace();

function setup() {
  const collector = new StatementCollector();
  const { log, database } = place.log({ observe: (sql) => collector.seen(sql) });
  return { collector, log, database };
}

describe("the statements of a running log", () => {
  test("are all on the list, with values of every kind in them", async () => {
    const { collector, log } = setup();
    const hostile = { partitionKey: 'k"k', body: `"') OR tenant = 'other' -- "` };
    const bytes = { body: new Uint8Array([0, 39, 92, 255]), contentType: "text/plain" };
    const batch = [message("it's \\' (?), -- x", hostile), message("2"), message("3", bytes)];
    await log.append(TOPIC, batch);
    await log.append(TOPIC, [...batch, message("4")]);
    await log.append(TOPIC, [message("5", { delayMs: 1 })]);
    const { entries } = await log.scanTopic(TOPIC, { afterOffset: 0, maxEntries: 10 });
    expect(entries.length).toBeGreaterThanOrEqual(4);
    const offsets = entries.map(({ offset }) => offset);
    const [first = 0, last = 0] = [offsets[0], offsets.at(-1)];
    for (const count of [1, 2, 4]) await log.readMessages(TOPIC, offsets.slice(0, count));
    await log.deleteRanges(TOPIC, [
      { first, last: first },
      { first: last, last },
    ]);
    expect(collector.escaped()).toEqual([]);
    expect(collector.count).toBeGreaterThan(6);
    expect(collector.unseen()).not.toContain("append");
    expect(collector.unseen()).toContain("purge");
  });

  test("do not hide one that is not", async () => {
    const { collector, database } = setup();
    await database.send("SELECT count(*) AS n FROM queue_messages WHERE topic = 'orders'", 5000);
    const [line, ...rest] = collector.escaped();
    expect(rest).toEqual([]);
    expect(line).toContain("matches no listed statement");
    expect(line).toContain("routed");
  });
});
