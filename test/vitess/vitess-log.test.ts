import { expect, test } from "vitest";
import { StatementCollector } from "../../scripts/lint-shards/statement-collector.ts";
import { messageLogSuite } from "../conformance/message-log-suite.ts";
import { vitessPlace } from "./vitess-log-place.ts";

const place = vitessPlace();
const collector = new StatementCollector();
const observe = (sql: string) => collector.seen(sql);

messageLogSuite("Vitess, on MariaDB through the gateway", async () => {
  const { log, tenant } = place.log({ observe });
  return {
    log,
    otherTenantsLog: place.log({ observe }).log,
    reopen: async () => place.log({ tenant, observe }).log,
    stepClock: null,
    close: async () => {},
  };
});

test("every statement that the suite sent is one that the linter has seen, and of one tenant", () => {
  expect(collector.count).toBeGreaterThan(500);
  expect(collector.escaped()).toEqual([]);
});

test("the suite sent every statement there is", () => {
  expect(collector.unseen()).toEqual([]);
});
